"""The staff dashboard. Views write nothing. If the reader turns refreshing on, the part that
changes is served on its own."""

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.people.requests import SiteRequest
from jobs.staff.dashboard.dashboard import board_at, use_at
from jobs.web.htmx import wants_part
from jobs.web.views.pages import show

VIEW = "jobs.view_dashboard"
EVERY = 15
"""Seconds between two looks of a board that refreshes itself."""


@permission_required(VIEW, raise_exception=True)
def board(request: SiteRequest) -> HttpResponse:
    now = timezone.now()
    context: dict[str, object] = {
        "board": board_at(now),
        "every": EVERY if request.GET.get("refresh") == str(EVERY) else 0,
        "wished": EVERY,
    }
    if not wants_part(request):
        context |= {**admin.site.each_context(request), "title": _("Dashboard"), "use": use_at(now)}
    return show(request, "admin/board.html", part="admin/_board.html", context=context)
