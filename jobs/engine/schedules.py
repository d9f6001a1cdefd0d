"""The few fixed schedules of django-q2, made at each start of a cluster and mended while it runs.

The queue reads all due rows in one transaction: a malformed one would stop the others. So no row
but these stays in the table, and each is as it is written here.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django_q.models import Schedule

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What a worker runs every so many minutes. Each takes a lease of its own, or may run twice."""

    name: str
    func: str
    minutes: int

    def columns(self) -> dict:
        return {
            "func": self.func,
            "args": None,
            "kwargs": None,
            "hook": None,
            "schedule_type": Schedule.MINUTES,
            "minutes": self.minutes,
            "repeats": -1,
            "cron": None,
            "cluster": None,
            "intended_date_kwarg": None,
        }

    def next_run(self, now: datetime) -> datetime:
        return now + timedelta(minutes=min(self.minutes, 2))


PLANS = (
    Plan("stand in for the ticker", "jobs.processes.tasks.stand_in_for_ticker", 1),
    Plan("look for what staff must know", "jobs.processes.tasks.look_for_alarms", 1),
    Plan("smoke tests of providers", "jobs.processes.tasks.begin_smoke_tests", 60),
    Plan("tidy up", "jobs.processes.tasks.tidy", 60),
)


def ensure() -> None:
    """Idempotent; one query where all is as it should be."""
    now = timezone.now()
    rows: dict[str, list[Schedule]] = {plan.name: [] for plan in PLANS}
    strange: list[Schedule] = []
    for row in Schedule.objects.order_by("pk"):
        same = rows.get(row.name or "")
        (same if same is not None and not same else strange).append(row)
    for plan in PLANS:
        _ensure(plan, rows[plan.name], now)
    if strange:
        log.warning("Schedules that are none of this site's are removed: %s", len(strange))
        Schedule.objects.filter(pk__in=[row.pk for row in strange]).delete()


def _ensure(plan: Plan, rows: list[Schedule], now: datetime) -> None:
    if not rows:
        Schedule.objects.create(name=plan.name, next_run=plan.next_run(now), **plan.columns())
        return
    [row] = rows
    wanted = plan.columns()
    if row.next_run is None or row.next_run > now + timedelta(minutes=plan.minutes + 1):
        wanted["next_run"] = plan.next_run(now)
    if any(getattr(row, column) != value for column, value in wanted.items()):
        Schedule.objects.filter(pk=row.pk).update(**wanted)
