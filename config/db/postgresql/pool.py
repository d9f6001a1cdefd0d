"""The web process's pool of sessions.

Checking out a session costs one round trip, which also shows whether it may write. A demoted server
responds to everything else.
"""

import time

import psycopg
from psycopg_pool import ConnectionPool

# While the database is read-only, pages can still be shown, so read-only sessions are used. But not
# for long, since the host name may resolve to another server by now.
READ_ONLY_LASTS = 2.0


class SessionPool(ConnectionPool):
    def __init__(self, **options) -> None:
        super().__init__(check=self._check_session, **options)
        self._renewed_at = 0.0

    def _check_session(self, session: psycopg.Connection) -> None:
        """Raises if the session must not be used."""
        session.autocommit = True
        try:
            row = session.execute("SHOW transaction_read_only").fetchone()
        except psycopg.Error:
            session.close()
            self._renew(session)
            raise
        is_read_only = row is not None and row[0] == "on"
        # A new session is used, however long it took to get here.
        is_new, session.was_used = not session.was_used, True  # type: ignore[attr-defined]
        is_old = time.monotonic() - _opened_at(session) >= READ_ONLY_LASTS
        if is_read_only and is_old and not is_new:
            session.close()
            self._renew(session)
            raise psycopg.OperationalError("the session has been read-only for too long")

    def _renew(self, session: psycopg.Connection) -> None:
        """Idle sessions have probably failed too. The pool would check them one by one and sleep
        for a second or more in between."""
        if _opened_at(session) > self._renewed_at:
            self._renewed_at = time.monotonic()
            self.drain()


def _opened_at(session: psycopg.Connection) -> float:
    return session.opened_at  # type: ignore[attr-defined]
