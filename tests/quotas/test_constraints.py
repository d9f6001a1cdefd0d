"""What the database itself refuses, whoever writes."""

import pytest
from django.db import IntegrityError, transaction

from quotas.models import Account, Allowance, Grant, Plan
from quotas.states import AttemptState

CONSTRAINT_OF_COLUMNS = {
    # SQLite names the columns of a unique index, PostgreSQL the index.
    "attempt_seat_taken_once": "quotas_attempt.account_id, quotas_attempt.kind, "
    "quotas_attempt.day, quotas_attempt.slot",
    "allowance_one_a_kind": "quotas_allowance.plan_id, quotas_allowance.kind",
}


@pytest.fixture
def refused():
    """Runs a write and says which constraint refused it."""

    def run(write, name: str) -> bool:
        with pytest.raises(IntegrityError) as caught, transaction.atomic():
            write()
        message = str(caught.value)
        return name in message or CONSTRAINT_OF_COLUMNS.get(name, name) in message

    return run


@pytest.mark.parametrize("state", [AttemptState.PENDING, AttemptState.SUCCESS])
def test_held_seat_is_refused_a_second_time(write_attempts, refused, state):
    write_attempts(1, state)
    assert refused(lambda: write_attempts(1), "attempt_seat_taken_once")


def test_failed_seat_may_be_taken_again(write_attempts):
    write_attempts(1, AttemptState.FAILED)
    write_attempts(1, AttemptState.FAILED)
    assert write_attempts(1)[0].pk


def test_seat_beyond_the_allowance_is_refused(write_attempts, refused):
    assert refused(lambda: write_attempts(1, slot=4, allowed=3), "attempt_slot_within_allowed")


def test_seat_zero_is_refused(write_attempts, refused):
    assert refused(lambda: write_attempts(1, slot=0), "attempt_slot_within_allowed")


def test_pending_attempt_with_an_end_is_refused(write_attempts, refused, now):
    assert refused(lambda: write_attempts(1, settled_at=now), "attempt_settled_once_ended")


@pytest.mark.parametrize("state", [AttemptState.SUCCESS, AttemptState.FAILED])
def test_ended_attempt_without_an_end_is_refused(write_attempts, refused, state):
    write = lambda: write_attempts(1, state, settled_at=None)  # noqa: E731
    assert refused(write, "attempt_settled_once_ended")


def test_unknown_state_is_refused(write_attempts, refused):
    assert refused(lambda: write_attempts(1, "lost"), "attempt_settled_once_ended")


@pytest.mark.parametrize("state", [AttemptState.PENDING, AttemptState.SUCCESS])
def test_only_a_failure_may_have_cost_nothing(write_attempts, refused, state):
    write = lambda: write_attempts(1, state, cost_nothing=True)  # noqa: E731
    assert refused(write, "attempt_cost_nothing_only_if_failed")


def test_second_allowance_of_a_kind_is_refused(db, refused):
    plan = Plan.objects.get(name="free")
    write = lambda: Allowance.objects.bulk_create([Allowance(plan=plan, kind="image", slots=1)])  # noqa: E731
    assert refused(write, "allowance_one_a_kind")


def test_allowance_beyond_reason_is_refused(db, refused):
    write = lambda: Allowance.objects.update(slots=100_001)  # noqa: E731
    assert refused(write, "allowance_slots_within_reason")


@pytest.mark.parametrize("slots", [0, 100_001])
def test_grant_of_nothing_or_beyond_reason_is_refused(account, day, now, refused, slots):
    grant = Grant(account=account, kind="image", day=day, slots=slots, granted_at=now)
    assert refused(lambda: Grant.objects.bulk_create([grant]), "grant_slots_within_reason")


@pytest.mark.parametrize("identity", ["visitor", "name"])
def test_blank_identity_is_refused(account, refused, identity):
    write = lambda: Account.objects.update(**{identity: ""})  # noqa: E731
    assert refused(write, "account_identity_not_blank")


@pytest.mark.parametrize("closed", ["a user's", "for nobody", "never"])
def test_only_a_visitors_account_is_closed_and_for_another(account, visitor, now, refused, closed):
    row, columns = {
        "a user's": (account, {"closed_at": now, "moved_to": visitor}),
        "for nobody": (visitor, {"closed_at": now}),
        "never": (visitor, {"moved_to": account}),
    }[closed]
    write = lambda: Account.objects.filter(pk=row.pk).update(**columns)  # noqa: E731
    assert refused(write, "account_closed_has_no_user")


@pytest.mark.parametrize("identity", ["user_id", "visitor", "name"])
def test_identity_belongs_to_one_account(account, now, refused, identity):
    Account.objects.filter(pk=account.pk).update(visitor="v", name="n")
    account.refresh_from_db()
    twin = Account(plan=account.plan, created_at=now, **{identity: getattr(account, identity)})
    # Named by the column on SQLite, and on PostgreSQL by a constraint that starts with it.
    name = f"quotas_account_{identity}" if transaction_is_postgres() else f".{identity}"
    assert refused(lambda: Account.objects.bulk_create([twin]), name)


def transaction_is_postgres() -> bool:
    return transaction.get_connection().vendor == "postgresql"
