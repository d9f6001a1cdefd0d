"""The audit checks the invariants over the whole database.

It only reads, one statement a check, and may run while the site runs. `rules` checks that the
database still enforces its own rules; the others check what only the code guarantees.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from jobs.checks import CHECKS, Check, Violation
from jobs.kinds import KINDS
from jobs.ops.audit import calls, database, files, pipeline, rules, slots

__all__ = [
    "Violation",
    "all_checks",
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
    for check in all_checks():
        yield from check.violations(now)
    yield from files.violations(deep=deep)


def all_checks() -> list[Check]:
    """Those of any job, then those of each kind."""
    return [*CHECKS, *(check for kind in KINDS.values() for check in kind.checks)]


def finds_damage(found: Iterable[Violation]) -> bool:
    """The database itself is malformed, so that no other answer of it proves anything."""
    return any(violation.check == database.IS_WHOLE for violation in found)
