"""Housekeeping as its tests run it, and what the audit says afterwards."""

from datetime import datetime, timedelta
from decimal import Decimal

from jobs.core.models import Job
from jobs.ops import audit
from jobs.ops.housekeeping import tidy
from providers.calls.outcomes import Cause, Failed
from quotas.models import Account
from tests import rows

DAY = timedelta(days=1)
YEARS = timedelta(days=800)


def failed_unnamed(account: Account, at: datetime) -> Job:
    """Billed without a picture, in the answer to its submit: no id was ever heard of."""
    said = Failed(Cause("no_output", rule="no_output"), Decimal("5.00"))
    return rows.news(rows.sending(account, at), said, at + 2 * rows.SECOND)


def run(at, seconds: float = 60) -> dict[str, int]:
    return {name: many for name, many in tidy(at, seconds=seconds).items() if many}


def violations(at) -> list[str]:
    return [str(found) for found in audit.violations(at, deep=True)]
