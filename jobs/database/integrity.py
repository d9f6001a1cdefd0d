"""The database's own integrity checks, and errors that mean that it is damaged."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from django.db import connection

from jobs.database.file import read_only_address

MOST = 20
"""A damaged file may have thousands of faults; a few show that it is damaged."""
SQLITE_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# Data, index and log corrupted.
POSTGRES_DAMAGE = ("XX001", "XX002")

INVALID_RULES = """
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (current_schemas(false)) AND NOT (i.indisvalid AND i.indisready)
    UNION ALL
    SELECT o.conname FROM pg_constraint o JOIN pg_namespace n ON n.oid = o.connamespace
    WHERE n.nspname = ANY (current_schemas(false)) AND NOT o.convalidated
"""
BTREES = """
    SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam
    WHERE n.nspname = ANY (current_schemas(false)) AND a.amname = 'btree' AND i.indisvalid
"""


def is_damage(exc: BaseException | None) -> bool:
    """The database was reached, and what it read makes no sense."""
    while exc is not None:
        code = getattr(exc, "sqlite_errorcode", None)
        # The lowest byte is the error, the others its kind.
        if code is not None and code & 0xFF in SQLITE_DAMAGE:
            return True
        if getattr(exc, "sqlstate", None) in POSTGRES_DAMAGE:
            return True
        exc = exc.__cause__
    return False


def faults_of_file(file: Path, *, whole: bool = True, is_alone: bool = False) -> list[str]:
    """Of a SQLite file with its side files, unless it `is_alone`. The check that is not
    `whole` reads every page, but compares no index with its table.

    Nothing is written: to close a database that was opened for writing would carry a `-wal` into
    it that may be another's.
    """
    check = "integrity_check" if whole else "quick_check"
    try:
        address = read_only_address(file, is_alone=is_alone)
        with closing(sqlite3.connect(address, uri=True)) as opened:
            found = opened.execute(f"PRAGMA {check}({MOST})").fetchall()
    except sqlite3.Error as exc:
        return [str(exc)]
    return [str(row[0]) for row in found if row[0] != "ok"]


def sqlite_faults() -> list[str]:
    return [row[0] for row in _ask(f"PRAGMA integrity_check({MOST})") if row[0] != "ok"]


def lost_references() -> Iterator[tuple[str, str]]:
    """Table and row of each reference to a row that does not exist; SQLite only."""
    for table, row, *_ in _ask("PRAGMA foreign_key_check"):
        yield str(table), str(row)


def invalid_rules() -> list[str]:
    """Indexes and constraints that PostgreSQL has, but does not vouch for."""
    return [name for (name,) in _ask(INVALID_RULES)]


def failed_checksums() -> int:
    """Pages that PostgreSQL found damaged as it read them; 0 where it keeps no checksums."""
    [(failed,)] = _ask(
        "SELECT coalesce(checksum_failures, 0) FROM pg_stat_database"
        " WHERE datname = current_database()"
    )
    return failed


def damaged_indexes() -> Iterator[tuple[str, str]]:
    """By PostgreSQL's extension amcheck, where it is installed: each index is compared with its
    table."""
    if not _ask("SELECT 1 FROM pg_extension WHERE extname = 'amcheck'"):
        return
    for (index,) in _ask(BTREES):
        try:
            _ask("SELECT bt_index_check(%s::regclass, true)", index)
        except Exception as exc:
            if not is_damage(exc):
                raise
            yield index, str(exc).splitlines()[0]


def _ask(question: str, *values: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(question, values or None)
        return cursor.fetchall()
