"""The audit: the invariants, looked at over the whole database.

It reads only, a statement a check, and may run beside a site at work. `rules` are those that the
database is told as well, the others those that only the code keeps.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from jobs.ops.audit import calls, database, files, pipeline, rules, slots
from jobs.ops.audit.findings import CHECKS, Violation

__all__ = [
    "CHECKS",
    "Violation",
    "calls",
    "database",
    "files",
    "finds_damage",
    "pipeline",
    "slots",
    "violations",
]


def violations(now: datetime, *, deep: bool = False) -> Iterator[Violation]:
    damage = list(database.violations(deep=deep))
    yield from damage
    if finds_damage(damage):
        # What a malformed database answers to the other checks proves nothing.
        return
    yield from rules.violations()
    for check in CHECKS:
        yield from check.violations(now)
    yield from files.violations(deep=deep)


def finds_damage(found: Iterable[Violation]) -> bool:
    """The database itself is malformed, so that no other answer of it proves anything."""
    return any(violation.check == database.IS_WHOLE for violation in found)
