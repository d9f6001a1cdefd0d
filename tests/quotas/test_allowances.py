"""What is allowed goes up and down while seats are held: grants and changed plans."""

from datetime import timedelta

import pytest

from quotas.ledger import read_balance, reserve, settle
from quotas.models import Allowance, Attempt, Grant, Plan
from quotas.states import AttemptState


@pytest.fixture
def take(account, now):
    """Tries so often; how many seats were had."""

    def take(times: int, at=now) -> int:
        got = [reserve(account=account, kind="image", now=at) for _ in range(times)]
        return sum(isinstance(each, Attempt) for each in got)

    return take


@pytest.fixture
def give(account, day, now):
    def give(slots: int, days: int = 0) -> Grant:
        on = day + timedelta(days=days)
        return Grant.objects.create(
            account=account, kind="image", day=on, slots=slots, granted_at=now, reason="goodwill"
        )

    return give


@pytest.fixture
def left(account, day):
    def left(days: int = 0) -> int:
        return read_balance(account, "image", day + timedelta(days=days)).left

    return left


def test_grants_of_a_day_add_up(give, left, take):
    give(2)
    give(3)
    assert left() == 15
    assert take(20) == 15


def test_grant_of_tomorrow_counts_tomorrow(give, left, take, now):
    give(2, days=1)
    assert (left(), left(1)) == (10, 12)
    assert take(15) == 10
    assert take(15, now + timedelta(days=1)) == 12


def test_grant_of_another_kind_gives_no_picture(account, day, now, left):
    Grant.objects.create(account=account, kind="contract", day=day, slots=5, granted_at=now)
    assert left() == 10


def test_revoked_grant_takes_no_held_seat_away(give, left, take):
    """Twelve are held where ten are allowed: none is lost, and none is given until one is back."""
    grant = give(2)
    assert take(15) == 12
    grant.delete()
    assert (left(), take(1)) == (0, 0)
    assert Attempt.objects.filter(state=AttemptState.PENDING).count() == 12


def test_seats_come_back_once_fewer_are_held_than_allowed(give, left, take, now):
    grant = give(2)
    take(12)
    grant.delete()
    seats = []
    for slot in (12, 1, 5):
        attempt = Attempt.objects.get(slot=slot, state=AttemptState.PENDING)
        settle(attempt_id=attempt.pk, state=AttemptState.FAILED, now=now)
        seats.append((left(), take(1)))
    assert seats == [(0, 0), (0, 0), (1, 1)]


def test_revoked_before_it_was_used_it_is_as_if_it_never_was(give, left, take):
    give(2).delete()
    assert (left(), take(15)) == (10, 10)


@pytest.mark.parametrize("slots", [0, 3, 9])
def test_plan_below_what_is_held_leaves_nothing(account, day, take, left, slots):
    take(10)
    Allowance.objects.filter(plan=account.plan, kind="image").update(slots=slots)
    balance = read_balance(account, "image", day)
    assert (balance.left, balance.on_hold, balance.allowed) == (0, 10, slots)
    assert take(3) == 0


def test_plan_raised_again_gives_the_rest(account, take, left):
    allowance = Allowance.objects.filter(plan=account.plan, kind="image")
    take(10)
    allowance.update(slots=3)
    assert take(1) == 0
    allowance.update(slots=12)
    assert (left(), take(5)) == (2, 2)


def test_change_to_a_smaller_plan_and_back_loses_nothing(account, take, left):
    take(5)
    small, before = Plan.objects.get(name="visitor"), account.plan
    for plan, expected in ((small, 0), (before, 5)):
        account.plan = plan
        account.save()
        assert left() == expected
    assert take(10) == 5


def test_grant_raises_the_bound_on_tries_with_the_allowance(give, account, day):
    give(2)
    assert read_balance(account, "image", day).most_tries == 3 * 12 + 5


def test_bound_counts_what_may_have_cost_and_nothing_else(account, take, now):
    """35 of 10 slots: failures that surely cost nothing are left out, what is held counts."""
    for number in range(60):
        got = reserve(account=account, kind="image", now=now)
        settle(attempt_id=got.pk, state=AttemptState.FAILED, now=now, cost_nothing=number % 2 == 0)
    assert take(10) == 5
    assert reserve(account=account, kind="image", now=now).why == "too_many_tries"
