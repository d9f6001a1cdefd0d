"""Processes that tidy up the same old rows at the same moment, on the database named by
DATABASE_URL. Prints what each of them removed.

Run as `python -m tests.jobs.tidiers tidy`.
"""

import json
import sys
from datetime import UTC, datetime, timedelta

# After the line above, which sets Django up.
from tests.quotas.contenders import run_together

from jobs import chores  # isort: skip
from jobs.ops import housekeeping  # isort: skip
from tests.jobs.tidying import fail_tasks

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
YEARS_LATER = NOW + timedelta(days=800)
TASKS, PROCESSES = 12, 3


def main() -> None:
    fail_tasks(TASKS, NOW)
    chores.BATCH = 4
    json.dump(run_together(*[tidy] * PROCESSES), sys.stdout)


def tidy() -> dict[str, int]:
    """Without the duty, which would let one of them do it."""
    return housekeeping.tidy(YEARS_LATER, seconds=60)


if __name__ == "__main__":
    main()
