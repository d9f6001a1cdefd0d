"""Processes that tidy up the same old rows at the same moment, on the database named by
DATABASE_URL. Prints what each of them removed.

Run as `python -m tests.jobs.tidiers tidy`.
"""

import json
import sys
from datetime import UTC, datetime, timedelta

# After the line above, which sets Django up.
from jobs.core import transitions
from tests.quotas.contenders import run_together

from jobs.ops import housekeeping  # isort: skip
from quotas import accounts
from tests.jobs.tidying import failed_unnamed

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
YEARS_LATER = NOW + timedelta(days=800)
JOBS, PROCESSES = 12, 3


def main() -> None:
    operator = accounts.ensure_saved(accounts.account_named(accounts.OPERATOR), now=NOW)
    for _ in range(JOBS):
        job = failed_unnamed(operator, NOW)
        for _ in range(3):
            transitions.record_event(job.pk, event="fetch_failed", now=NOW)
    housekeeping.BATCH = 4
    json.dump(run_together(*[tidy] * PROCESSES), sys.stdout)


def tidy() -> dict[str, int]:
    """Without the duty, which would let one of them do it."""
    return housekeeping.tidy(YEARS_LATER, seconds=60)


if __name__ == "__main__":
    main()
