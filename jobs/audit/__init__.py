"""The audit: the invariants, looked at over the whole database.

It reads only, a statement a check, and may run beside a site at work. `rules` are those that the
database is told as well, the others those that only the code keeps.
"""

from collections.abc import Iterator
from datetime import datetime

from jobs.audit import calls, files, pipeline, rules, slots
from jobs.audit.findings import CHECKS, Violation

__all__ = ["CHECKS", "Violation", "calls", "files", "pipeline", "slots", "violations"]


def violations(now: datetime, *, deep: bool = False) -> Iterator[Violation]:
    yield from rules.violations()
    for check in CHECKS:
        yield from check.violations(now)
    yield from files.violations(deep=deep)
