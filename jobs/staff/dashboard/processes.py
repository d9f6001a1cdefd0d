"""Whether the site moves: the signs of life of its processes, and its schedules."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django_q.models import Schedule, Task

from jobs.core import heartbeats, queue
from jobs.core.models import Heartbeat, Stage

MOST_SCHEDULES = 50


@dataclass(frozen=True)
class Sign:
    """`word` says whether it lives; nobody is called dead who only never spoke, nor silent who is
    at work."""

    name: str
    word: str
    is_alive: bool
    beat_at: datetime | None


@dataclass(frozen=True)
class Planned:
    name: str
    next_at: datetime | None
    result: str
    has_failed: bool
    ran_at: datetime | None


def signs(now: datetime, *, busy: int = 0) -> list[Sign]:
    """`busy` is how many stages are at work: workers that all hold one answer nothing."""
    beats = dict(Heartbeat.objects.values_list("name", "beat_at"))
    return [
        _sign("worker", _("Worker cluster"), beats.get("worker"), now, at_work=busy > 0),
        _sign("ticker", _("Ticker"), beats.get("ticker"), now),
    ]


def busy_stages(now: datetime) -> int:
    return Stage.objects.leased(now).count()


def messages_waiting() -> int:
    return queue.waiting()


def schedules() -> list[Schedule]:
    return list(Schedule.objects.order_by("name", "pk")[:MOST_SCHEDULES])


def last_failures(rows: list[Schedule]) -> dict[str, Task]:
    """By the id of a schedule's last task: the queue keeps only those that failed."""
    ids = [row.task for row in rows if row.task]
    failed = Task.objects.filter(pk__in=ids, success=False)
    return failed.only("pk", "stopped").in_bulk()


def planned(rows: list[Schedule], failures: dict[str, Task]) -> list[Planned]:
    return [_planned(row, failures.get(row.task or "")) for row in rows]


def _planned(row: Schedule, failure: Task | None) -> Planned:
    if failure:
        result = _("failed")
    else:
        result = _("started, no failure known") if row.task else _("not run yet")
    stopped = failure.stopped if failure else None
    return Planned(row.name or row.func, row.next_run, result, bool(failure), stopped)


def _sign(
    name: str, title: str, beat_at: datetime | None, now: datetime, *, at_work: bool = False
) -> Sign:
    is_alive = at_work or heartbeats.says_alive(name, beat_at, now)
    if beat_at is None and not at_work:
        word = _("no heartbeat yet")
    else:
        word = _("alive") if is_alive else _("silent")
    return Sign(title, word, is_alive, beat_at)
