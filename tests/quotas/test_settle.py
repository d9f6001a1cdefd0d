"""How an attempt ends, and that an ended one never changes."""

from itertools import product

import pytest

from quotas.ledger import read_balance, reserve, settle
from quotas.models import Attempt
from quotas.states import ENDS, HELD, AttemptState

PENDING, SUCCESS, FAILED = AttemptState.PENDING, AttemptState.SUCCESS, AttemptState.FAILED


@pytest.mark.parametrize(("before", "to"), list(product(AttemptState, AttemptState)))
def test_only_a_pending_attempt_ends(write_attempts, now, before, to):
    attempt = write_attempts(1, before)[0]
    row = Attempt.objects.filter(pk=attempt.pk).values()
    kept = row.get()
    if to == PENDING:
        with pytest.raises(ValueError, match="settled as success or failed"):
            settle(attempt_id=attempt.pk, state=to, now=now)
    else:
        assert settle(attempt_id=attempt.pk, state=to, now=now) is (before == PENDING)
    expected = kept | {"state": to, "settled_at": now} if before == PENDING and to in ENDS else kept
    assert row.get() == expected


def test_states_that_end_and_states_that_hold_overlap_in_success_only():
    assert frozenset(AttemptState) == ENDS | HELD
    assert frozenset({SUCCESS}) == ENDS & HELD


@pytest.fixture
def attempt(account, now) -> Attempt:
    return reserve(account=account, kind="image", now=now)


@pytest.mark.parametrize("first", [SUCCESS, FAILED])
@pytest.mark.parametrize("second", [SUCCESS, FAILED])
def test_second_settle_changes_nothing(attempt, now, first, second):
    settle(attempt_id=attempt.pk, state=first, now=now)
    assert not settle(attempt_id=attempt.pk, state=second, now=now, cost_nothing=True)
    attempt.refresh_from_db()
    assert (attempt.state, attempt.cost_nothing) == (first, False)


def test_failure_frees_the_seat_at_once(attempt, account, now, day):
    settle(attempt_id=attempt.pk, state=FAILED, now=now)
    assert read_balance(account, "image", day).left == 10
    assert reserve(account=account, kind="image", now=now).slot == attempt.slot


def test_success_keeps_the_seat(attempt, account, now, day):
    settle(attempt_id=attempt.pk, state=SUCCESS, now=now)
    balance = read_balance(account, "image", day)
    assert (balance.left, balance.used, balance.on_hold) == (9, 1, 0)
    assert reserve(account=account, kind="image", now=now).slot == attempt.slot + 1


def test_failure_that_cost_nothing_is_not_a_try(attempt, account, now, day):
    settle(attempt_id=attempt.pk, state=FAILED, now=now, cost_nothing=True)
    assert read_balance(account, "image", day).tries == 0


def test_failure_that_may_have_cost_is_a_try(attempt, account, now, day):
    settle(attempt_id=attempt.pk, state=FAILED, now=now)
    assert read_balance(account, "image", day).tries == 1


def test_success_never_counts_as_free_of_cost(attempt, now):
    settle(attempt_id=attempt.pk, state=SUCCESS, now=now, cost_nothing=True)
    attempt.refresh_from_db()
    assert attempt.cost_nothing is False


def test_attempt_that_is_not_there_is_not_settled(db, now):
    assert settle(attempt_id=4711, state=SUCCESS, now=now) is False
