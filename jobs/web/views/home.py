"""The first page: today's quota, what is in progress, the last results."""

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.core import heartbeats
from jobs.core.states import ENDS
from jobs.kinds import with_list_needs
from jobs.people.own_rows import own_jobs
from jobs.people.requests import SiteRequest
from jobs.web.first_run import missing_for
from jobs.web.htmx import wants_part
from jobs.web.views.pages import polled_status, show

IN_PROGRESS = 6
LAST_RESULTS = 8


@require_safe
def home(request: SiteRequest) -> HttpResponse:
    newest = own_jobs(request).kept().order_by("-created_at", "pk")
    in_progress = list(newest.open()[:IN_PROGRESS])
    ended = newest.filter(state__in=sorted(ENDS))
    results = list(with_list_needs(ended)[:LAST_RESULTS])
    context = {
        "in_progress": in_progress,
        "results": results,
        "is_new": not in_progress and not results,
        "missing": [] if wants_part(request) else missing_for(request),
        "stands_still": bool(in_progress) and not heartbeats.site_moves(timezone.now()),
    }
    status = polled_status(request, goes_on=bool(in_progress))
    return show(request, "home.html", part="_home_live.html", context=context, status=status)
