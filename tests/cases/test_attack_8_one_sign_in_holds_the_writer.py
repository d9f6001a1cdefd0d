"""A sign-in moves any number of jobs in transactions that hold up no one."""

import uuid
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection, transaction

from jobs.core.models import Job
from jobs.ops import housekeeping
from jobs.people.sign_in import BATCH, MOST_AT_ONCE, bring_along
from jobs.processes import tasks
from quotas.accounts import account_of_visitor, ensure_saved
from quotas.ledger import read_balance
from quotas.models import Attempt
from tests import rows

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("clock", "enqueued"),
]
DAY = timedelta(days=1)
MANY = 3 * BATCH + 7


def cancelled(account, at, count: int, *, attempts: bool = False) -> None:
    """As their person left them, each with its failed attempt where the day matters."""
    spent = [None] * count
    if attempts:
        row = {"account": account, "kind": "image", "day": at.date(), "slot": 1, "allowed": 3}
        row |= {"state": "failed", "cost_nothing": True, "reserved_at": at, "settled_at": at}
        spent = Attempt.objects.bulk_create([Attempt(**row) for _ in range(count)])
    same = {"account": account, "kind": "image", "state": "cancelled", "params": {}}
    same |= {"created_at": at, "changed_at": at, "ended_at": at}
    jobs = [Job(form_key=uuid.uuid4().hex, attempt=attempt, **same) for attempt in spent]
    Job.objects.bulk_create(jobs)


@contextmanager
def moved_rows():
    """How many jobs each transaction wrote."""
    sizes = [0]

    def note(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if sql.startswith('UPDATE "jobs_job"'):
            if not sizes[-1]:
                transaction.on_commit(lambda: sizes.append(0))
            sizes[-1] += context["cursor"].rowcount
        return result

    with connection.execute_wrapper(note):
        yield sizes


def sign_in(account, visitor, now) -> None:
    bring_along(visitor=visitor.visitor, user=account.user, now=now)


@pytest.mark.parametrize("age", [DAY, timedelta(0)], ids=["earlier days", "today"])
def test_no_transaction_moves_more_than_a_batch(account, visitor, now, age):
    cancelled(visitor, now - age, MANY, attempts=True)
    with moved_rows() as sizes:
        sign_in(account, visitor, now)
    assert account.jobs.count() == MANY
    assert max(sizes) <= BATCH


def test_a_form_used_on_both_sides_does_not_make_the_batch_longer(account, visitor, now):
    cancelled(visitor, now - DAY, BATCH + 1)
    twin = visitor.jobs.first()
    rows.failed(account, now - DAY)
    account.jobs.update(form_key=twin.form_key, form_digest=twin.form_digest)
    with moved_rows() as sizes:
        sign_in(account, visitor, now)
    assert (account.jobs.count(), max(sizes) <= BATCH) == (BATCH + 2, True)


def test_jobs_of_several_visitors_share_a_batch(account, visitor, now):
    others = [ensure_saved(account_of_visitor(f"visitor {n}"), now=now) for n in range(3)]
    for other in others:
        cancelled(other, now - DAY, 5)
        other.moved_to, other.closed_at = account, now
        other.save()
    sign_in(account, visitor, now)
    assert account.jobs.count() == 15


def test_the_day_is_right_before_thousands_of_old_jobs_are_moved(account, visitor, now):
    cancelled(visitor, now - DAY, MOST_AT_ONCE + BATCH)
    held = rows.generating(visitor, now)
    sign_in(account, visitor, now)
    assert rows.again(held).attempt.account == account
    assert read_balance(account, "image", now.date()).on_hold == 1
    assert account.jobs.count() == 1 + MOST_AT_ONCE


def test_the_queue_moves_the_rest(account, visitor, now, enqueued):
    cancelled(visitor, now - DAY, MOST_AT_ONCE + BATCH)
    sign_in(account, visitor, now)
    assert enqueued == [("jobs.processes.tasks.move_jobs", (account.pk,))]
    tasks.move_jobs(account.pk)
    assert (account.jobs.count(), len(enqueued)) == (MOST_AT_ONCE + BATCH, 1)


def test_housekeeping_moves_what_the_queue_lost(account, visitor, now):
    cancelled(visitor, now - DAY, MOST_AT_ONCE + BATCH)
    sign_in(account, visitor, now)
    assert housekeeping.tidy(now, seconds=60)["jobs that sign-ins left"] == BATCH
    assert account.jobs.count() == MOST_AT_ONCE + BATCH
