"""Ending a job together with its attempt. Call under the lock of the job's row.

A job ends once, by compare-and-set on its state, and settles its attempt once, by compare-and-set
on `pending`.
"""

from datetime import datetime

from jobs.core import leases, transitions
from jobs.core.events import EventName
from jobs.core.models import Job
from jobs.core.states import JobState
from jobs.core.works import find_calls
from providers.reasons import Reason
from quotas import ledger as quota
from quotas.states import AttemptState


def settle(
    job: Job, state: AttemptState, now: datetime, *, cost_nothing: bool | None = None
) -> bool:
    """False where the attempt has ended before. By default the calls of all the job's works tell
    whether they may have cost something."""
    if job.attempt_id is None:
        return False
    if cost_nothing is None:
        cost_nothing = not find_calls(job.pk).may_have_cost().exists()
    return quota.settle(attempt_id=job.attempt_id, state=state, now=now, cost_nothing=cost_nothing)


def succeed(job: Job, now: datetime) -> bool:
    if not transitions.apply(job.pk, JobState.READY, event=EventName.READY, now=now):
        return False
    settle(job, AttemptState.SUCCESS, now)
    leases.finish_all(job.pk, now)
    return True


def fail(
    job: Job, now: datetime, *, reason: str, cost_nothing: bool | None = None, **facts: str
) -> bool:
    """The slot goes back."""
    if not transitions.apply(
        job.pk, JobState.FAILED, event=EventName.FAILED, now=now, reason=reason, **facts
    ):
        return False
    settle(job, AttemptState.FAILED, now, cost_nothing=cost_nothing)
    leases.finish_all(job.pk, now)
    return True


def end_unconfirmed(job: Job, now: datetime) -> bool:
    """The attempt stays pending, as the record of an unknown."""
    if not transitions.apply(
        job.pk, JobState.NOT_CONFIRMED, event=EventName.GIVEN_UP, now=now, reason=Reason.DEADLINE
    ):
        return False
    leases.finish_all(job.pk, now)
    return True
