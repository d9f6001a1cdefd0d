"""Signing in brings the visitor's day along: jobs with their pictures, and today's slots.

    close the visitor's account -> today's attempts, one by one -> the other jobs, in batches

Each arrow may be a death. The unfinished rest is always "jobs on an account that was closed for
this one". The next sign-in, a task of the queue and housekeeping all continue it.
"""

import uuid
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef

from jobs.core import queue
from jobs.core.batches import run_batches
from jobs.core.models import Job, JobQuerySet
from quotas import account_merge, ledger
from quotas.models import Account, Attempt

# One transaction. SQLite has one writer: everybody else waits for it.
BATCH = 200
# Moved before the sign-in is answered; the queue moves the rest.
MOST_AT_ONCE = 1000


def bring_along(*, visitor: str, user: User, now: datetime) -> Account:
    """The user's account, with all that the visitor had. Safe to be run again, by two at once."""
    account = account_merge.merge_visitor_into_user(visitor=visitor, user=user, now=now)
    _move_todays_attempts(account, now)
    moved = 0
    while moved < MOST_AT_ONCE and (batch := move_batch(account)):
        moved += batch
    if moved and left_behind(account).exists():
        queue.enqueue_move(account.pk)
    return account


def continue_move(account_id: int, now: datetime, *, seconds: float) -> bool:
    """True when jobs are left for another run."""
    account = Account.objects.get(pk=account_id)
    _move_todays_attempts(account, now)
    return run_batches(partial(move_batch, account), seconds=seconds)


def left_behind(account: Account) -> JobQuerySet:
    return Job.objects.filter(account__moved_to=account)


def accounts_with_jobs_left():
    """Accounts that sign-ins closed and did not empty."""
    has_jobs = Exists(Job.objects.filter(account=OuterRef("pk")))
    return Account.objects.filter(has_jobs, moved_to__isnull=False)


def _move_todays_attempts(to: Account, now: datetime) -> None:
    """Those that hold a seat or count among the day's tries; their number is bounded."""
    counted = Attempt.objects.filter(
        account__moved_to=to,
        day=ledger.utc_day(now),
        cost_nothing=False,
        job__account=F("account"),
    )
    ids = counted.order_by("job__created_at", "job__pk").values_list("job__pk", flat=True)
    for job_id in list(ids):
        _move_with_its_attempt(job_id, to, now)


@transaction.atomic
def _move_with_its_attempt(job_id: uuid.UUID, to: Account, now: datetime) -> None:
    """Move the job, and its attempt if a seat is free; otherwise the attempt stays on the closed
    account. The job's row is locked first, as in the settling of its attempt."""
    job = Job.objects.select_for_update().get(pk=job_id)
    if job.account_id != to.pk and job.attempt_id:
        _give([job], to)
        ledger.move(attempt_id=job.attempt_id, to=to, now=now)


@transaction.atomic
def move_batch(to: Account) -> int:
    """The newest jobs left behind; 0 when there are none. Their attempts stay: what failed free of
    charge counts nowhere, and days that are over are not rewritten."""
    newest: list[uuid.UUID] = []
    for account_id in accounts_with_jobs_left().filter(moved_to=to).values_list("pk", flat=True):
        theirs = Job.objects.filter(account=account_id).order_by("-created_at")
        newest += theirs.values_list("pk", flat=True)[: BATCH - len(newest)]
        if len(newest) == BATCH:
            break
    left = left_behind(to).filter(pk__in=newest)
    jobs = list(left.select_for_update(of=("self",)).order_by("pk"))
    _give(jobs, to)
    return len(jobs)


def _give(jobs: list[Job], to: Account) -> None:
    try:
        with transaction.atomic():
            Job.objects.filter(pk__in=[job.pk for job in jobs]).update(account=to)
    except IntegrityError:
        for job in jobs:
            # If the account has a job by the same form, this one can no longer be found by it.
            mine = Job.objects.filter(pk=job.pk)
            try:
                with transaction.atomic():
                    mine.update(account=to)
            except IntegrityError:
                mine.update(account=to, form_key=f"moved-{job.pk.hex}")
