"""Polza's list of what a key ran: `GET /v1/history/generations`, page by page.

Its rows name neither prompt nor `user`. After how long a run appears in it is not documented.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from providers.outcomes import (
    Cause,
    Listing,
    NoAnswer,
    Run,
    RunList,
    reference_said,
)
from providers.reasons import Reason, Rule

PAGE = 100
MOST_PAGES = 50
LIST_WITHIN = 60
REQUEST_TYPE = "image"

Ask = Callable[[dict[str, str]], dict[str, Any] | NoAnswer]


def read(ask: Ask, since: datetime, until: datetime) -> RunList:
    """Oldest first, so that a run which begins meanwhile moves no row. Complete if every page
    named the same total and that many different runs came."""
    asked_at, patience = timezone.now(), time.monotonic() + LIST_WITHIN
    runs: dict[str, Run] = {}
    totals: set[int] = set()
    for page in range(1, MOST_PAGES + 1):
        body = ask(_page_of(since, until, page))
        if isinstance(body, NoAnswer):
            return body
        if not _is_requested(body, page):
            return NoAnswer(
                Cause(Reason.PROVIDER, rule=Rule.OTHER_RUN, http=200, text="another page")
            )
        listed = _read_page(body)
        if listed is None:
            return NoAnswer(Cause(Reason.PROVIDER, http=200, text="unreadable list"))
        rows, total = listed
        totals.add(total)
        runs |= {run.reference: run for run in rows}
        if len(rows) < PAGE and (len(runs) >= total or not rows):
            return Listing(tuple(runs.values()), asked_at, is_complete=totals == {len(runs)})
        if time.monotonic() >= patience:
            break
    return Listing(tuple(runs.values()), asked_at, is_complete=False)


def _page_of(since: datetime, until: datetime, page: int) -> dict[str, str]:
    begins, ends = (
        moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for moment in (since, until)
    )
    return {
        "page": str(page),
        "limit": str(PAGE),
        "dateFrom": begins,
        "dateTo": ends,
        "requestType": REQUEST_TYPE,
        "sortBy": "createdAt",
        "sortOrder": "asc",
    }


def _is_requested(body: dict[str, Any], page: int) -> bool:
    """False where it names another page, or a row of another kind, than was requested."""
    meta, entries = body.get("meta"), body.get("items", body.get("data"))
    named = meta.get("page", page) if isinstance(meta, dict) else page
    rows = [row for row in entries if isinstance(row, dict)] if isinstance(entries, list) else []
    kinds = {str(row.get("requestType", REQUEST_TYPE)) for row in rows}
    return named in (page, str(page)) and kinds <= {REQUEST_TYPE}


def _read_page(body: dict[str, Any]) -> tuple[list[Run], int] | None:
    """The rows of one page and how many there are on all; None when one of them is no run. The
    rows are under `items` or `data`."""
    entries = body.get("items", body.get("data"))
    meta = body.get("meta")
    total = meta.get("total") if isinstance(meta, dict) else None
    if not isinstance(entries, list) or type(total) is not int:
        return None
    runs = [_read_run(entry) for entry in entries]
    whole = [run for run in runs if run]
    return (whole, total) if len(whole) == len(runs) else None


def _read_run(entry: Any) -> Run | None:
    if not isinstance(entry, dict):
        return None
    reference, model = reference_said(entry.get("id")), entry.get("model")
    created_at = _instant(entry.get("createdAt"))
    if not reference or not isinstance(model, str) or not model or created_at is None:
        return None
    return Run(reference, model, created_at)


def _instant(said: Any) -> datetime | None:
    """None also for a time without a zone: a guess could be hours off."""
    try:
        moment = datetime.fromisoformat(said)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else None
