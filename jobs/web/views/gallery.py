"""All jobs of a person: those in progress first, then the newest, 24 to a page."""

import uuid

from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from jobs.core import heartbeats
from jobs.core.models import Job, JobQuerySet
from jobs.core.states import ENDS, OPEN, JobState
from jobs.kinds import with_list_needs
from jobs.people.own_rows import own_jobs
from jobs.people.requests import SiteRequest
from jobs.web.htmx import wants_part
from jobs.web.views.pages import polled_status, show

A_PAGE = 24

FILTERS = {
    "all": (_("All"), ENDS),
    "ready": (_("Ready"), frozenset({JobState.READY})),
    "open": (_("In progress"), frozenset()),
    "failed": (_("Without a result"), ENDS - {JobState.READY}),
}


@require_safe
def gallery(request: SiteRequest) -> HttpResponse:
    if wants_part(request) and "tiles" in request.GET:
        return _open_tiles(request)
    chosen = request.GET.get("show", "all")
    chosen = chosen if chosen in FILTERS else "all"
    number = request.GET.get("page", "1")
    is_number = number.isascii() and number.isdecimal() and len(number) < 6
    page = max(1, int(number)) if is_number else 1
    tiles, has_more = _ended(request, chosen, page)
    in_progress, has_more_open = _in_progress(request, chosen, page)
    context = {
        "in_progress": in_progress,
        "any_open": bool(in_progress),
        "next_open_page": page + 1 if has_more_open else None,
        "stands_still": bool(in_progress) and not heartbeats.site_moves(timezone.now()),
        "tiles": tiles,
        "next_page": page + 1 if has_more else None,
        "page": page,
        "chosen": chosen,
        "filters": [(name, title) for name, (title, _states) in FILTERS.items()],
    }
    return show(request, "gallery.html", part="_gallery_more.html", context=context)


def _open_tiles(request: SiteRequest) -> HttpResponse:
    """The tiles that were in progress when the page was made, as they are now."""
    shown = []
    for word in request.GET["tiles"].split(",")[:A_PAGE]:
        try:
            shown.append(uuid.UUID(word))
        except ValueError:
            continue
    jobs = list(_newest(request).filter(pk__in=shown))
    any_open = any(job.state in OPEN for job in jobs)
    context = {"in_progress": jobs, "any_open": any_open}
    status = polled_status(request, goes_on=any_open)
    part = "_gallery_open.html"
    return show(request, part, part=part, context=context, status=status)


def _ended(request: SiteRequest, chosen: str, page: int) -> tuple[list[Job], bool]:
    states = FILTERS[chosen][1]
    return _cut(_newest(request).filter(state__in=sorted(states)), page) if states else ([], False)


def _in_progress(request: SiteRequest, chosen: str, page: int) -> tuple[list[Job], bool]:
    """All above the first page of the gallery; one page at a time under their own filter."""
    is_shown = chosen == "open" or (chosen == "all" and page == 1)
    return _cut(_newest(request).open(), page) if is_shown else ([], False)


def _cut(jobs: JobQuerySet, page: int) -> tuple[list[Job], bool]:
    """One page, and whether there is another."""
    start = (page - 1) * A_PAGE
    found = list(jobs[start : start + A_PAGE + 1])
    return found[:A_PAGE], len(found) > A_PAGE


def _newest(request: SiteRequest) -> JobQuerySet:
    return with_list_needs(own_jobs(request).kept().order_by("-created_at", "pk"))
