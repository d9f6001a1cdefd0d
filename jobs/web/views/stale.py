"""A form that was opened before its sender signed in or out: refused, with what was typed kept."""

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.csrf import csrf_failure

from jobs.kinds import order_page_at
from jobs.people.requests import SiteRequest
from jobs.web.htmx import wants_part
from jobs.web.views.limited import bare_limited_page, limited_page
from jobs.web.views.pages import show


def not_sent(request: SiteRequest, reason: str = "") -> HttpResponse:
    """Only if nothing but the token was wrong: another site's form is not shown as one of ours."""
    order = order_page_at(request.path) if reason.startswith("CSRF token") else None
    if limited := getattr(request, "limited", None):
        page = limited_page if order else bare_limited_page
        return page(request, limited)
    if order is None:
        return csrf_failure(request, reason)
    context: dict[str, object] = {
        "form": order.form(request.POST),
        "refused": _(
            "This form is out of date. You may have signed in or out since you opened it. "
            "Send it again."
        ),
    }
    status = 409 if wants_part(request) else 403
    return show(request, order.page, part=order.part, context=context, status=status)
