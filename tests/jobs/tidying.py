"""Housekeeping as its tests run it, and what the audit says afterwards."""

from datetime import timedelta

from jobs import audit
from jobs.housekeeping import tidy

DAY = timedelta(days=1)
YEARS = timedelta(days=800)


def run(at, seconds: float = 60) -> dict[str, int]:
    return {name: many for name, many in tidy(at, seconds=seconds).items() if many}


def violations(at) -> list[str]:
    return [str(found) for found in audit.violations(at, deep=True)]
