"""Notice that jobs may have changed. A watcher runs in the hub's one thread and blocks there.

`wait(seconds)` returns True when watched rows should be compared: because the database moved, or
because nothing was heard for so long that it is better to look.
"""

import logging
import time
from typing import Protocol

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections

from jobs.core.transitions import LIVE_CHANNEL

log = logging.getLogger(__name__)

SQLITE_LOOK_EVERY = 0.008
LOOK_ANYWAY_AFTER = 5.0
# Behind a pooler nothing is heard.
POOLED_LOOK_EVERY = 0.5
IDLE_TIMEOUT_SINCE = 140_000


class Watcher(Protocol):
    def wait(self, seconds: float) -> bool: ...
    def close(self) -> None: ...


class SqliteWatcher:
    """`PRAGMA data_version` changes with every commit of another connection. Reading it takes
    microseconds, so it is polled often, and rows are read only after a change."""

    def __init__(self) -> None:
        self._seen: int | None = None

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        with connection.cursor() as cursor:
            while True:
                version = cursor.execute("PRAGMA data_version").fetchone()[0]
                if version != self._seen:
                    self._seen = version
                    return True
                if time.monotonic() >= until:
                    return False
                time.sleep(SQLITE_LOOK_EVERY)

    def close(self) -> None:
        connection.close()


class PostgresWatcher:
    """LISTEN on a connection of its own. A lost connection raises, and a new watcher checks the
    rows first. A notification can be lost with its connection, so the rows are checked every few
    seconds anyway."""

    def __init__(self) -> None:
        self._listening: psycopg.Connection | None = None
        self._is_pooled = False
        self._looked_at = 0.0

    def wait(self, seconds: float) -> bool:
        if self._is_pooled:
            time.sleep(POOLED_LOOK_EVERY)
            return True
        try:
            if self._listening is None:
                self._listening = self._listen()
                return True
            heard = list(self._listening.notifies(timeout=seconds, stop_after=1))
        except psycopg.Error as exc:
            raise OperationalError(type(exc).__name__) from exc
        overdue = time.monotonic() - self._looked_at >= LOOK_ANYWAY_AFTER
        if heard or overdue:
            self._looked_at = time.monotonic()
        return bool(heard) or overdue

    def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        connection.close()

    def _listen(self) -> psycopg.Connection:
        parameters = connection.get_connection_params()
        for name in ("cursor_factory", "context", "server_side_binding"):
            parameters.pop(name, None)
        listening = psycopg.connect(**parameters, autocommit=True)
        found = listening.execute("SELECT pg_backend_pid()").fetchone()
        # A pooler answers the handshake with a process id of its own.
        if found and found[0] != listening.info.backend_pid:
            self._is_pooled = True
            log.warning("The pooler of DATABASE_URL cannot LISTEN: live pages look twice a second")
            return listening
        # It is silent for as long as nothing happens.
        if listening.info.server_version >= IDLE_TIMEOUT_SINCE:
            listening.execute("SET idle_session_timeout = 0")
        listening.execute(f"LISTEN {LIVE_CHANNEL}")
        return listening


def leave_pool() -> None:
    """From here on this thread's connection is its own: a crowd of requests that waits for the
    pool's connections does not keep the hub waiting with it."""
    alone = connection.copy()
    alone.settings_dict["OPTIONS"].pop("pool", None)
    connections[DEFAULT_DB_ALIAS] = alone


def watcher() -> Watcher:
    return PostgresWatcher() if connection.vendor == "postgresql" else SqliteWatcher()
