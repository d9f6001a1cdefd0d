"""A decision of staff, for what takes one."""

from datetime import timedelta

import pytest

from jobs.staff.actions.base import Decision

HOUR = timedelta(hours=1)
REASON = "ana asked by phone"


@pytest.fixture
def decision(staff, now):
    return Decision(staff, REASON, now + HOUR)
