"""Signing in brings the visitor's day along: jobs with their pictures, and today's slots.

    close the visitor's account -> each job of today with its attempt -> the jobs of earlier days

Each arrow may be a death: whatever is still on an account that was closed for this one is moved by
the next sign-in.
"""

import uuid
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from jobs.models import Job, JobQuerySet
from quotas import ledger, moving
from quotas.models import Account


def bring_along(*, visitor: str, user: User, now: datetime) -> Account:
    """The user's account, with all that the visitor had. Safe to be run again, by two at once."""
    account = moving.account_for(visitor=visitor, user=user, now=now)
    today = _left_behind(account).filter(attempt__day=ledger.utc_day(now))
    for job_id in today.order_by("created_at", "pk").values_list("pk", flat=True):
        _move_with_its_attempt(job_id, account, now)
    _move_earlier(account)
    return account


def _left_behind(account: Account) -> JobQuerySet:
    return Job.objects.filter(account__moved_to=account)


@transaction.atomic
def _move_with_its_attempt(job_id: uuid.UUID, to: Account, now: datetime) -> None:
    """The job always; its attempt where a seat is free, otherwise that stays on the closed account.

    The job's row is locked first, as by whoever settles its attempt.
    """
    job = Job.objects.select_for_update().get(pk=job_id)
    if job.account_id != to.pk and job.attempt_id:
        _give(job, to)
        ledger.move(attempt_id=job.attempt_id, to=to, now=now)


@transaction.atomic
def _move_earlier(to: Account) -> None:
    """Their attempts stay: days that are over are not written anew."""
    for job in _left_behind(to).select_for_update(of=("self",)).order_by("pk"):
        _give(job, to)


def _give(job: Job, to: Account) -> None:
    """Where the account has made a job by the same form, this one can no longer be found by it."""
    mine = Job.objects.filter(pk=job.pk)
    try:
        with transaction.atomic():
            mine.update(account=to)
    except IntegrityError:
        mine.update(account=to, form_key=f"moved-{job.pk.hex}")
