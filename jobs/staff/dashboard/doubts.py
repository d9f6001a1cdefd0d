"""The calls in doubt, those that have waited longest first, and what may be decided about each."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.core.models import Job, Stage
from jobs.staff.actions import attach, check, give_back
from providers.calls.models import Call

MOST = 50


@dataclass(frozen=True)
class Doubt:
    """What its state allows; the reader's permissions are checked where it is shown."""

    call: Call
    job: Job | None
    age: timedelta
    can_be_checked: bool
    can_be_given_back: bool
    can_be_attached: bool


def calls_in_doubt(now: datetime) -> list[Call]:
    return list(Call.objects.in_doubt(now).order_by("sent_at", "pk")[:MOST])


def find_jobs(calls: list[Call]) -> dict[str, Job]:
    """By work."""
    stages = Stage.objects.filter(work__in=[call.work for call in calls])
    stages = stages.select_related("job__account__user", "job__attempt")
    shown = ("state", "reason", "attempt__state")
    owner = ("name", "visitor", "closed_at", "moved_to", "user__username")
    columns = (*shown, *(f"account__{each}" for each in owner))
    found = stages.only("work", *(f"job__{column}" for column in columns))
    return {stage.work or "": stage.job for stage in found}


def doubts(now: datetime) -> list[Doubt]:
    calls = calls_in_doubt(now)
    if not calls:
        return []
    jobs, why_unchecked = find_jobs(calls), check.why_not_each(calls, now)
    return [_doubt(call, jobs, why_unchecked[call.pk], now) for call in calls]


def _doubt(call: Call, jobs: dict[str, Job], why_unchecked: str, now: datetime) -> Doubt:
    job = jobs.get(call.work)
    return Doubt(
        call=call,
        job=job,
        age=now - call.sent_at,
        can_be_checked=not why_unchecked,
        can_be_given_back=not give_back.why_not(call, job, now),
        can_be_attached=not attach.why_not(call, job),
    )
