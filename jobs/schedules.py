"""The few fixed schedules of django-q2, made at each start of a cluster."""

from datetime import timedelta

from django.utils import timezone
from django_q.models import Schedule

STAND_IN = "stand in for the ticker"


def ensure() -> None:
    """Idempotent; a row that was edited into something malformed is put right."""
    first = timezone.now() + timedelta(minutes=1)
    row, made = Schedule.objects.get_or_create(
        name=STAND_IN, defaults={**_stand_in(), "next_run": first}
    )
    if not made:
        Schedule.objects.filter(pk=row.pk).update(**_stand_in())
        Schedule.objects.filter(name=STAND_IN).exclude(pk=row.pk).delete()


def _stand_in() -> dict:
    return {
        "func": "jobs.tasks.stand_in_for_ticker",
        "args": None,
        "kwargs": None,
        "hook": None,
        "schedule_type": Schedule.MINUTES,
        "minutes": 1,
        "repeats": -1,
        "cron": None,
        "cluster": None,
    }
