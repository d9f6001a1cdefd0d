"""The turn of the UTC day: what is on hold from before takes nothing of the new day, however late
its result comes."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import get_user_model

from quotas.accounts import account_of_user, ensure_saved
from quotas.ledger import Refused, read_balance, reserve, settle
from quotas.models import Account, Attempt
from quotas.states import AttemptState

MIDNIGHT = datetime(2026, 3, 15, tzinfo=UTC)
LAST = MIDNIGHT - timedelta(milliseconds=1)
LATER = MIDNIGHT + timedelta(minutes=5)
SUCCESS, FAILED = AttemptState.SUCCESS, AttemptState.FAILED


def numbers(account: Account, at: datetime) -> tuple[int, int, int, int]:
    balance = read_balance(account, "image", at.date())
    return balance.left, balance.on_hold, balance.used, balance.tries


@pytest.fixture
def late(account) -> Attempt:
    """Reserved in the last millisecond of the day."""
    return reserve(account=account, kind="image", now=LAST)


def test_last_millisecond_belongs_to_its_day(late, account):
    assert late.day == LAST.date()
    assert numbers(account, LAST) == (9, 1, 0, 1)


def test_at_midnight_it_holds_nothing(late, account):
    assert numbers(account, MIDNIGHT) == (10, 0, 0, 0)
    assert reserve(account=account, kind="image", now=MIDNIGHT).slot == 1


@pytest.mark.parametrize(("state", "yesterday"), [(SUCCESS, (9, 0, 1, 1)), (FAILED, (10, 0, 0, 1))])
def test_its_end_after_midnight_is_yesterdays(late, account, state, yesterday):
    assert settle(attempt_id=late.pk, state=state, now=LATER)
    assert numbers(account, LAST) == yesterday
    assert numbers(account, LATER) == (10, 0, 0, 0)
    late.refresh_from_db()
    assert (late.day, late.settled_at) == (LAST.date(), LATER)


def test_tries_of_yesterday_bind_nobody_today(account, write_attempts):
    write_attempts(35, FAILED)
    assert reserve(account=account, kind="image", now=LAST).why == "too_many_tries"
    assert isinstance(reserve(account=account, kind="image", now=MIDNIGHT), Attempt)


@pytest.fixture
def full(db) -> list[Account]:
    """Ten accounts with ten attempts each, all on hold a minute before midnight."""
    users = [get_user_model().objects.create(username=f"user{n}") for n in range(10)]
    accounts = [ensure_saved(account_of_user(user), now=LAST) for user in users]
    for account in accounts:
        for _ in range(10):
            reserve(account=account, kind="image", now=MIDNIGHT - timedelta(minutes=1))
        assert isinstance(reserve(account=account, kind="image", now=LAST), Refused)
    assert Attempt.objects.filter(state=AttemptState.PENDING).count() == 100
    return accounts


def test_hundred_on_hold_leave_the_whole_new_day(full):
    assert {numbers(account, MIDNIGHT) for account in full} == {(10, 0, 0, 0)}
    slots = [reserve(account=each, kind="image", now=MIDNIGHT).slot for each in full * 10]
    assert sorted(slots) == [slot for slot in range(1, 11) for _ in range(10)]


def test_results_after_midnight_hold_nothing_of_the_new_day(full):
    for number, attempt in enumerate(Attempt.objects.order_by("pk")):
        state = FAILED if number % 3 == 0 else SUCCESS
        assert settle(attempt_id=attempt.pk, state=state, now=LATER)
    assert {numbers(account, LATER) for account in full} == {(10, 0, 0, 0)}
    assert sum(numbers(account, LAST)[2] for account in full) == 66
    assert not Attempt.objects.filter(state=AttemptState.PENDING).exists()
    assert set(Attempt.objects.values_list("day", flat=True)) == {LAST.date()}
