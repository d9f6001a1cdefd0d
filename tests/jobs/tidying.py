"""Housekeeping as its tests run it, and what the audit says afterwards."""

from datetime import datetime, timedelta

from django_q.models import Task

from jobs.ops import audit
from jobs.ops.housekeeping import tidy

DAY = timedelta(days=1)
YEARS = timedelta(days=800)


def fail_tasks(count: int, at: datetime) -> None:
    """Failed tasks of the queue, which housekeeping removes once they are old."""
    for number in range(count):
        Task.objects.create(
            id=f"{number:032}", name="x", func="x", started=at, stopped=at, success=False
        )


def run(at, seconds: float = 60) -> dict[str, int]:
    return {name: many for name, many in tidy(at, seconds=seconds).items() if many}


def violations(at) -> list[str]:
    return [str(found) for found in audit.violations(at, deep=True)]
