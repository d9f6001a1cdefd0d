"""Finds faults of a reachable database. Each is one sentence for the operator."""

import sqlite3
from collections.abc import Iterator

from django.db import connection

from config.db.postgresql import sessions

# The quota ledger's one statement needs RETURNING.
OLDEST_SQLITE = (3, 35, 0)


def find_faults() -> Iterator[str]:
    if connection.vendor == "sqlite":
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            wanted = ".".join(map(str, OLDEST_SQLITE))
            yield f"SQLite {wanted} or later is required, this Python has {sqlite3.sqlite_version}"
        return
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        encoding = cursor.fetchone()[0]
        if encoding != "UTF8":
            yield (
                f"the encoding of the database is {encoding}, but must be UTF8: create it with"
                " CREATE DATABASE ... TEMPLATE template0 ENCODING 'UTF8'"
            )
        if sessions.is_pooled(connection.connection):
            yield from _find_unsettable(cursor)


def _find_unsettable(cursor) -> Iterator[str]:
    """Behind a pooler, only the defaults of the role and the database apply."""
    cursor.execute(
        "SELECT lower(name), lower(setting) FROM pg_settings WHERE lower(name) = ANY(%s)",
        [list(sessions.PARAMETERS)],
    )
    for name, setting in cursor.fetchall():
        wanted = sessions.PARAMETERS[name]
        if not _is_right(name, setting, wanted):
            yield (
                f"{name} is {setting}, and the pooler in DATABASE_URL keeps no setting of a"
                f" session: run ALTER DATABASE ... SET {name} = '{wanted}'"
            )


def _is_right(name: str, setting: str, wanted: str) -> bool:
    if name == "synchronous_commit":
        return setting != "off"
    return setting == wanted.lower()
