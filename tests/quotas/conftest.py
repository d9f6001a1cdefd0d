"""Rows of the ledger, written past the code that guards them."""

from datetime import date, datetime

import pytest

from quotas.days import utc_day
from quotas.models import Account, Attempt
from quotas.states import AttemptState


@pytest.fixture
def day(now) -> date:
    return utc_day(now)


@pytest.fixture
def write_attempts(account, day, now):
    """Seats 1 to `seats` in one state, as raw rows."""

    def write(seats: int, state: AttemptState = AttemptState.PENDING, **changed) -> list[Attempt]:
        return Attempt.objects.bulk_create(
            Attempt(**(attempt_fields(account, day, now, slot, state) | changed))
            for slot in range(1, seats + 1)
        )

    return write


def attempt_fields(
    account: Account, day: date, now: datetime, slot: int, state: AttemptState
) -> dict[str, object]:
    ended_at = None if state == AttemptState.PENDING else now
    return {
        "account": account,
        "kind": "image",
        "day": day,
        "slot": slot,
        "allowed": 100,
        "state": state,
        "reserved_at": now,
        "settled_at": ended_at,
    }
