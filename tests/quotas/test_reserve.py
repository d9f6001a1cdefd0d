"""Seats: which one is taken, and when there is none."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection

from quotas.days import utc_day
from quotas.ledger import Refused, read_balance, reserve, settle
from quotas.models import Account, Allowance, Attempt, Grant, Plan
from quotas.states import AttemptState


@pytest.fixture
def take(account, now):
    def take(kind: str = "image", at: datetime = now):
        return reserve(account=account, kind=kind, now=at)

    return take


@pytest.fixture
def fail(now):
    def fail(attempt: Attempt, **told) -> bool:
        return settle(attempt_id=attempt.pk, state=AttemptState.FAILED, now=now, **told)

    return fail


def set_slots(slots: int, plan: str = "free") -> None:
    Allowance.objects.filter(plan__name=plan, kind="image").update(slots=slots)


def test_seats_are_taken_from_one_upwards(take):
    assert [take().slot for _ in range(3)] == [1, 2, 3]


def test_attempt_opens_pending_with_the_allowance_of_that_moment(take, day, now):
    attempt = take()
    assert (attempt.state, attempt.allowed, attempt.day) == ("pending", 10, day)
    assert (attempt.reserved_at, attempt.settled_at, attempt.cost_nothing) == (now, None, False)


def test_full_account_is_refused_and_nothing_is_written(take):
    for _ in range(10):
        take()
    refused = take()
    assert isinstance(refused, Refused)
    assert (refused.why, refused.balance.left) == ("full", 0)
    assert Attempt.objects.count() == 10


def test_lowest_freed_seat_is_taken_first(take, fail):
    attempts = [take() for _ in range(5)]
    fail(attempts[3])
    fail(attempts[1])
    assert [take().slot for _ in range(3)] == [2, 4, 6]


def test_kinds_have_seats_of_their_own(take):
    take()
    assert take("contract").slot == 1


def test_accounts_have_seats_of_their_own(take, visitor, now):
    take()
    assert reserve(account=visitor, kind="image", now=now).slot == 1


def test_plan_without_the_kind_has_no_seat(take):
    assert take("export").why == "full"


def test_allowance_of_zero_gives_no_seat(take):
    set_slots(0)
    assert take().why == "full"


def test_grant_gives_seats_on_its_day_only(take, account, day, now):
    Grant.objects.create(account=account, kind="image", day=day, slots=2, granted_at=now)
    assert sum(isinstance(take(), Attempt) for _ in range(15)) == 12
    tomorrow = now + timedelta(days=1)
    assert sum(isinstance(take(at=tomorrow), Attempt) for _ in range(15)) == 10


def test_lowered_plan_gives_no_low_seat_while_enough_are_held(take, fail):
    attempts = [take() for _ in range(10)]
    set_slots(5)
    for attempt in attempts[:5]:
        fail(attempt)
    assert take().why == "full"
    fail(attempts[9])
    assert take().slot == 1


def test_plan_that_changed_after_the_account_was_read_is_asked_once(take, account):
    for _ in range(3):
        take()
    Account.objects.update(plan=Plan.objects.get(name="visitor"))
    queries = []
    with connection.execute_wrapper(lambda run, *rest: (queries.append(rest), run(*rest))[1]):
        assert take().why == "full"
    assert len(queries) < 10


@pytest.mark.parametrize("held", [0, 7])
def test_failures_that_may_have_cost_are_bounded(take, fail, held):
    for _ in range(held):
        take()
    for _ in range(35 - held):
        fail(take())
    refused = take()
    assert refused.why == "too_many_tries"
    assert refused.balance.left == 10 - held


def test_failures_that_cost_nothing_are_not_bounded(take, fail):
    for _ in range(40):
        fail(take(), cost_nothing=True)
    assert isinstance(take(), Attempt)


def test_full_is_said_before_the_bound(take, account, day, now, write_attempts):
    write_attempts(35, AttemptState.FAILED)
    write_attempts(10)
    assert take().why == "full"


def test_day_is_the_utc_day_to_the_second(take):
    last = datetime(2026, 3, 14, 23, 59, 59, 999999, tzinfo=UTC)
    first = datetime(2026, 3, 15, 0, 0, 0, tzinfo=UTC)
    assert [take(at=last).day, take(at=first).day] == [last.date(), first.date()]


def test_day_is_utc_wherever_the_clock_stands(take):
    tokyo = datetime(2026, 3, 15, 8, 59, 59, tzinfo=timezone(timedelta(hours=9)))
    assert take(at=tokyo).day.isoformat() == "2026-03-14"


def test_naive_time_is_refused(take):
    with pytest.raises(ValueError, match="naive"):
        take(at=datetime(2026, 3, 14, 12))
    assert not Attempt.objects.exists()


def test_pending_of_yesterday_holds_nothing_today(take, now, account):
    for _ in range(10):
        take()
    tomorrow = now + timedelta(days=1)
    balance = read_balance(account, "image", utc_day(tomorrow))
    assert (balance.left, balance.on_hold) == (10, 0)
    assert take(at=tomorrow).slot == 1
