"""Polza's answers: what a generation looks like to its client at a given moment."""

import json
import secrets
import time
from datetime import UTC, datetime
from decimal import Decimal

from providers.sandbox.bill import EMPTY_OUTPUTS, Generation
from providers.sandbox.orders import HistoryPage

PENDING_SHARE = 0.25
UNKNOWN_WORD = "upscaling"
# The end is reported only after these polls, so that each kind of nonsense is sent first.
MUDDLED_POLLS = {"poll_flaky": 8, "wrong_id": 4, "no_id": 2, "poll_429": 2, "poll_429_after": 2}
ENDS = {
    "fail": "failed",
    "fail_billed": "failed",
    "cancelled": "cancelled",
}
# The documented filter of the history knows three words only.
HISTORY_WORDS = {"processing": "pending", "cancelled": "failed"}
FAILURES = {
    "failed": {"code": "BAD_GATEWAY", "message": "Ошибка провайдера: генерация не удалась"},
    "cancelled": {"code": "CANCELLED", "message": "Генерация отменена"},
}
PRIVATE_URL = "http://10.0.0.1/f/{id}.png"
A_DAY = 86_400
NO_RUN = {
    "id": "gen_of_another_day",
    "model": "sandbox/another",
    "requestType": "image",
    "status": "completed",
    "cost": "5.0000",
}
EXCUSE = "I can describe this scene, but I did not draw it."


def error(code: str, message: str) -> bytes:
    trace = {"trace_id": secrets.token_hex(4), "metadata": {}, "details": []}
    return as_json({"error": {"code": code, "message": message, **trace}})


def as_json(answer: dict) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode()


def status_of(generation: Generation, *, now: float) -> str:
    """The true status. A poll may be answered with another (`status_told`)."""
    if now < generation.completes_at:
        runs_for = generation.completes_at - generation.executed_at
        is_fresh = now - generation.executed_at < runs_for * PENDING_SHARE
        return "pending" if is_fresh else "processing"
    if generation.fault.name == "failed_then_completed":
        return "failed" if generation.failure_told_at is None else "completed"
    return ENDS.get(generation.fault.name, "completed")


def status_told(generation: Generation, *, now: float, poll: int) -> str:
    """What the client's n-th poll hears: the polling faults are heard before the end is."""
    status = status_of(generation, now=now)
    if generation.fault.name == "status_new" and (status != "completed" or poll == 1):
        return UNKNOWN_WORD
    if poll <= MUDDLED_POLLS.get(generation.fault.name, -1):
        return "processing"
    return status


def accepted(generation: Generation) -> dict:
    return {
        "id": generation.id,
        "object": "media.generation",
        "status": "pending",
        "created": int(generation.executed_at),
        "model": generation.model,
    }


def media(generation: Generation, status: str, *, base_url: str) -> dict:
    """The answer to a poll that found this status; `base_url` is ours as the client knows it."""
    answer = {**accepted(generation), "status": status}
    if status in FAILURES:
        answer["error"] = FAILURES[status]
    if status == "completed":
        answer |= _output(generation, base_url)
    if status == "completed" or status in FAILURES:
        answer["completed_at"] = int(generation.completes_at)
        answer["usage"] = _usage(generation, status)
    return answer


def history_row(generation: Generation, *, now: float) -> dict:
    status = status_of(generation, now=now)
    cost = f"{_cost_shown(generation, status):.4f}"
    row: dict = {
        "id": generation.id,
        "model": generation.model,
        "requestType": "image",
        "provider": "Sandbox",
        "status": HISTORY_WORDS.get(status, status),
        "cost": cost,
        "clientCost": cost,
        "createdAt": _iso(generation.executed_at),
        "apiKeyShort": f"pza_…{generation.key_digest[:2]}",
    }
    if status == "completed":
        runs_for = generation.completes_at - generation.executed_at
        row["generationTimeMs"] = round(runs_for * 1000)
    return row


def _output(generation: Generation, base_url: str) -> dict:
    if generation.fault.name == "text_only":
        return {"content": EXCUSE}
    if generation.fault.name == "no_output":
        return {"data": []}
    if generation.fault.name == "odd_shape":
        return {"data": {"asset": {"vault": "eu-1", "token": generation.id[::-1]}}}
    told = next(generation.ends_told)
    if generation.fault.name == "late_output" and told <= len(EMPTY_OUTPUTS):
        return {"data": EMPTY_OUTPUTS[told - 1]}
    url = _address(generation, base_url)
    # Both shapes occur in the wild; the id decides, so a generation keeps its own.
    return {"data": {"url": url} if is_even(generation) else [{"url": url}]}


def _address(generation: Generation, base_url: str) -> str:
    if generation.fault.name == "result_private":
        return PRIVATE_URL.format(id=generation.id)
    signature = f"?issued={time.time_ns()}" if generation.fault.name == "url_expires" else ""
    return f"{base_url}/f/{generation.id}.png{signature}"


def is_even(generation: Generation) -> bool:
    return int(generation.id[-1]) % 2 == 0


def _usage(generation: Generation, status: str) -> dict:
    cost = float(_cost_shown(generation, status))
    return {"output_units": int(status == "completed"), "cost_rub": cost, "cost": cost}


def _cost_shown(generation: Generation, status: str) -> Decimal:
    """What is charged, but a failure that will be taken back claims to have been free."""
    if status == "completed" or generation.fault.name == "fail_billed":
        return generation.charged
    return Decimal(0)


def _iso(instant: float) -> str:
    moment = datetime.fromtimestamp(instant, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def history(
    generations: list[Generation], page: HistoryPage, *, now: float
) -> tuple[list[dict], int]:
    """One page of rows, and how many there are on all pages. `generations` come oldest first."""
    rows = [history_row(generation, now=now) for generation in generations]
    rows = [row for row in rows if page.request_type in ("", row["requestType"])]
    rows = [row for row in rows if page.status in ("", row["status"])]
    if page.sort_by == "cost":
        rows.sort(key=lambda row: Decimal(row["cost"]))
    if page.descending:
        rows.reverse()
    start = (page.page - 1) * page.limit
    return rows[start : start + page.limit], len(rows)


def foreign_history(page: HistoryPage, *, asked: int, since: float) -> dict:
    """A list that answers another question: of another page first, then of another day."""
    meta = {"page": page.page, "limit": page.limit, "total": 0}
    if asked == 1:
        return {"items": [], "meta": {**meta, "page": page.page + 1}}
    row = {**NO_RUN, "createdAt": _iso(since - A_DAY)}
    return {"items": [row], "meta": {**meta, "total": 1}}
