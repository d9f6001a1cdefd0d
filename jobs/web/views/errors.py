"""Error pages: one sentence, one action, no status code and no traceback.

`broken` works without database, context processors and static-file manifest.
"""

import logging
import sys

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from jobs.core.outages import OUTAGES
from jobs.database.integrity import is_damage
from jobs.people.own_rows import NotHere
from jobs.people.requests import SiteRequest
from jobs.web.context import theme_of

log = logging.getLogger(__name__)

# SQLSTATE of PostgreSQL: a read-only transaction, a full disk.
UNWRITABLE = ("25006", "53100")


def bad_request(request: SiteRequest, exception: Exception) -> HttpResponse:
    says = _("Your browser sent something that this site cannot read.")
    return _page(request, 400, _("Your request was not understood"), says)


def forbidden(request: SiteRequest, exception: Exception) -> HttpResponse:
    return _page(
        request,
        403,
        _("You do not have access"),
        _("You do not have permission to see or do this."),
    )


def not_found(request: SiteRequest, exception: Exception) -> HttpResponse:
    says = _("This page does not exist, or you do not have access to it.")
    if isinstance(exception, NotHere):
        says = str(exception)
    return _page(request, 404, _("Page not found"), says)


def broken(request: SiteRequest) -> HttpResponse:
    """The last resort. A database outage tells the reader what to do. For any other error the page
    only confirms that it was logged."""
    error = sys.exc_info()[1]
    is_damaged = is_damage(error)
    is_outage = is_damaged or isinstance(error, OUTAGES)
    passes = is_outage and not is_damaged
    context = {
        "title": _("Try again in a minute") if passes else _("Something went wrong"),
        "says": _outage(error) if is_outage else _("We logged the error for staff."),
        "theme": theme_of(request),
        "stylesheet": f"{settings.STATIC_URL}app.css",
    }
    response = HttpResponse(render_to_string("500.html", context))
    response.status_code = 503 if is_outage else 500
    if is_outage:
        log.error("The database cannot be used: %s", _cause(error), extra={"status_code": 503})
        # Django would add a line of its own, with the traceback.
        response._has_been_logged = True  # type: ignore[attr-defined]
        response["Retry-After"] = "60"
    return response


def _cause(error: BaseException | None) -> str:
    """The SQLSTATE, if there is one: the text may quote what a person wrote."""
    if is_damage(error):
        return "it is malformed"
    state = getattr(error and error.__cause__, "sqlstate", None)
    return f"{type(error).__name__}, {state}" if state else type(error).__name__


def _outage(error: BaseException | None) -> str:
    """Reachable but full or read-only, or not reachable at all: both pass, and nothing is lost.
    A server speaks its operator's language, so its SQLSTATE is what counts."""
    if is_damage(error):
        return _("The database of this site is damaged. Only staff can fix this.")
    text = f"{error} {getattr(error and error.__cause__, 'sqlstate', '')}".lower()
    if any(word in text for word in ("readonly", "read-only", "full", "space", *UNWRITABLE)):
        return _("We cannot save anything right now. Try again in a minute.")
    return _("We cannot reach our database right now. Try again in a minute.")


def _page(request: SiteRequest, status: int, title: str, says: str) -> HttpResponse:
    return render(request, "error.html", {"title": title, "says": says}, status=status)
