"""The database's own checks: is its content intact, and are its rules enforced?"""

from collections.abc import Iterator

from django.db import connection

from jobs.checks import Violation
from jobs.database import integrity

IS_WHOLE = "database_is_whole"


def violations(*, deep: bool) -> Iterator[Violation]:
    """SQLite's whole check always: the audit reads every row anyway. On PostgreSQL what its
    catalogue knows, and `deep` each index against its table, where amcheck is installed."""
    yield from _of_sqlite() if connection.vendor == "sqlite" else _of_postgres(deep=deep)


def _of_sqlite() -> Iterator[Violation]:
    for fault in integrity.sqlite_faults():
        yield _damage(" ".join(fault.split()))
    for table, row in integrity.lost_references():
        says = "It refers to a row that does not exist."
        yield Violation("database_references_exist", table, [row], says)


def _of_postgres(*, deep: bool) -> Iterator[Violation]:
    for rule in integrity.invalid_rules():
        says = "PostgreSQL has this index or constraint, but it is not valid."
        yield Violation("database_rules_are_valid", "pg_catalog", [rule], says)
    failed = integrity.failed_checksums()
    if failed:
        yield _damage(f"{failed} pages failed their checksum")
    for index, fault in integrity.damaged_indexes() if deep else ():
        yield _damage(f"{index}: {fault}")


def _damage(fault: str) -> Violation:
    says = "The database is malformed: restore a backup."
    return Violation(IS_WHOLE, connection.vendor, [fault], says)
