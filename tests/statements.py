"""What the database was asked while something ran, on the connections of every thread."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections
from django.db.backends.signals import connection_created

READS = re.compile(r"[(\s]*(SELECT|WITH|EXPLAIN|PRAGMA|SHOW)\b", re.IGNORECASE)
# A row's lock makes its competitors wait, a notification wakes every listener.
AMONG_READS = re.compile(
    r"\bINSERT INTO\b|\bDELETE FROM\b|\bUPDATE \S+ SET\b|\bFOR (NO KEY )?UPDATE\b"
    r"|\bpg_notify\b|\bnextval\b",
    re.IGNORECASE,
)
TABLE = re.compile(r'\b(?:INTO|UPDATE|FROM)\s+"(\w+)"', re.IGNORECASE)


class Statements(list[str]):
    def writes(self) -> list[str]:
        """Savepoints too: without a test around it each is a transaction, and on SQLite that takes
        the lock of all writers."""
        return [sql for sql in self if not READS.match(sql) or AMONG_READS.search(sql)]

    def tables_written(self) -> set[str]:
        """Savepoints write to none."""
        found = (TABLE.search(sql) for sql in self.writes())
        return {match[1] for match in found if match}

    def reads_of(self, table: str) -> int:
        return sum(bool(READS.match(sql)) and f'"{table}"' in sql for sql in self)


@contextmanager
def recorded() -> Iterator[Statements]:
    asked = Statements()

    def note(execute, sql, params, many, context):
        asked.append(sql)
        return execute(sql, params, many, context)

    def listen(connection, **kwargs) -> None:
        if note not in connection.execute_wrappers:
            connection.execute_wrappers.append(note)

    known = connections.all(initialized_only=True)
    connection_created.connect(listen)
    for connection in known:
        listen(connection)
    try:
        yield asked
    finally:
        connection_created.disconnect(listen)
        for connection in known:
            connection.execute_wrappers.remove(note)
