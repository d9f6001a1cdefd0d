"""Housekeeping removes old rows and files in small batches, as the retention settings require.

A chore may run again at any time, in two processes at once, and be killed between or within its
batches: a batch is one transaction, or the removal of files that no row names. Jobs, attempts,
calls and events stay.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django_q.models import Task

from jobs import chores
from jobs.chores import Chore
from jobs.core import leases
from jobs.core.models import Job
from jobs.files import media
from jobs.kinds import KINDS
from jobs.ops import old_rows
from jobs.ops.audit import files
from jobs.people import removal, sign_in
from jobs.pictures import unread
from providers.calls import restores, result_files
from providers.calls.models import CallResult
from quotas import new_visitors
from quotas.models import Newcomer

log = logging.getLogger(__name__)

DUTY = "tidy"
DUTY_LASTS = timedelta(minutes=10)
ORPHANS_KEPT = timedelta(days=1)


def tidy_if_due(now: datetime, *, seconds: float) -> dict[str, int]:
    """Nothing when another is at it."""
    token = uuid.uuid4()
    if not leases.take_duty(DUTY, token, now, DUTY_LASTS):
        return {}
    try:
        return tidy(now, seconds=seconds)
    finally:
        leases.drop_duty(DUTY, token)


def tidy(now: datetime, *, seconds: float) -> dict[str, int]:
    """How much went, by chore. Each has its share of the time, and one that fails stops no other;
    what is left is for the next run."""
    due = all_chores()
    return {chore.name: _do(chore, now, seconds / len(due)) for chore in due}


def _do(chore: Chore, now: datetime, seconds: float) -> int:
    end = time.monotonic() + seconds
    done = 0
    try:
        while True:
            removed = chore.step(now)
            done += removed
            if not removed or time.monotonic() >= end:
                return done
    except DatabaseError:
        raise
    except Exception:
        log.exception("Housekeeping of %s came to a stop", chore.name)
        return done


# Failed tasks of the queue


def _failures(now: datetime) -> QuerySet[Task]:
    return Task.objects.filter(success=False, stopped__lte=now - settings.FAILURES_KEPT)


def tidy_failures(now: datetime) -> int:
    some = list(_failures(now).order_by().values_list("pk", flat=True)[: chores.BATCH])
    return Task.objects.filter(pk__in=some).delete()[0]


# What people left who were deleted


def tidy_former(now: datetime) -> int:
    return removal.clear_batch(now)


# Jobs that a sign-in did not come to, and the queue lost


def _left_jobs() -> QuerySet[Job]:
    return Job.objects.filter(account__moved_to__isnull=False)


def move_left_jobs(now: datetime) -> int:
    left = sign_in.accounts_with_jobs_left().select_related("moved_to").first()
    return sign_in.move_batch(left.moved_to) if left else 0


# Files of results that came inside an answer and were never delivered, as long after


def _results(now: datetime) -> QuerySet[CallResult]:
    long_ago = now - unread.KEPT_FOR
    old = Q(call__late_at=None) | Q(call__late_at__lte=long_ago)
    return CallResult.objects.with_file().filter(old, call__ended_at__lte=long_ago)


def tidy_results(now: datetime) -> int:
    some = list(_results(now).order_by("pk")[: chores.BATCH])
    return media.remove(result_files.forget_files(some))


# Networks that new visitors came from: no longer than they count


def tidy_new_visitors(now: datetime) -> int:
    some = list(
        new_visitors.forgettable(now).order_by().values_list("pk", flat=True)[: chores.BATCH]
    )
    return Newcomer.objects.filter(pk__in=some).delete()[0]


# Files that no row names: rests of runs and deletions that died, and drafts


def _orphans(now: datetime) -> Iterator[str]:
    """What a restore left without a row stays: it is all that is left of a paid picture."""
    found = files.orphans(before=(now - ORPHANS_KEPT).timestamp())
    restored_at = restores.last_restore_at()
    if restored_at is None:
        return found
    return (file for file in found if not files.may_be_lost_picture(file, restored_at.timestamp()))


def tidy_files(now: datetime) -> int:
    """A batch of those that can be removed, however many cannot."""
    gone = filter(None, (media.remove([file]) for file in _orphans(now)))
    return sum(islice(gone, chores.BATCH))


def _delete_old(name: str, rows: Callable[[datetime], QuerySet]) -> Chore:
    def step(now: datetime) -> int:
        some = list(rows(now).order_by().values_list("pk", flat=True)[: chores.BATCH])
        # Their number, without what goes with them: that is what was counted.
        return rows(now).model._base_manager.filter(pk__in=some).delete()[0] and len(some)

    return Chore(name, lambda now: rows(now).count(), step)


CHORES = (
    Chore("failed tasks", lambda now: _failures(now).count(), tidy_failures),
    Chore("jobs of former users", lambda now: removal.jobs_to_clear(now).count(), tidy_former),
    Chore("jobs that sign-ins left", lambda now: _left_jobs().count(), move_left_jobs),
    Chore("files of results", lambda now: _results(now).count(), tidy_results),
    Chore("new visitors", lambda now: new_visitors.forgettable(now).count(), tidy_new_visitors),
    *(_delete_old(name, rows) for name, rows in old_rows.OLD.items()),
    Chore("files", lambda now: sum(1 for _ in _orphans(now)), tidy_files),
)


def all_chores() -> list[Chore]:
    """Those of any job, then those of each kind."""
    return [*CHORES, *(chore for kind in KINDS.values() for chore in kind.chores)]
