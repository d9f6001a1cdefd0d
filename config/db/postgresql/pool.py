"""The web process's pool of sessions.

Checking a session out costs one round trip, which also shows whether it may write. A server that
was demoted answers every question but that one.
"""

import time

import psycopg
from psycopg_pool import ConnectionPool

# While the database takes no writes its pages still show what is there, so a read-only session is
# used, but not for long: the name of the host may lead to another server by now.
READ_ONLY_LASTS = 2.0


class SessionPool(ConnectionPool):
    def __init__(self, **options) -> None:
        super().__init__(check=self._check_session, **options)
        self._renewed_at = 0.0

    def _check_session(self, session: psycopg.Connection) -> None:
        """Raises when the session must not be used."""
        session.autocommit = True
        try:
            row = session.execute("SHOW transaction_read_only").fetchone()
        except psycopg.Error:
            session.close()
            self._renew(session)
            raise
        is_read_only = row is not None and row[0] == "on"
        # One that is new is used however long it took to come here.
        is_new, session.was_used = not session.was_used, True  # type: ignore[attr-defined]
        is_old = time.monotonic() - _opened_at(session) >= READ_ONLY_LASTS
        if is_read_only and is_old and not is_new:
            session.close()
            self._renew(session)
            raise psycopg.OperationalError("the session has been read-only for too long")

    def _renew(self, session: psycopg.Connection) -> None:
        """Idle sessions share the fate of the one that failed. The pool would find that out one by
        one, and sleep for a second and more between two of them."""
        if _opened_at(session) > self._renewed_at:
            self._renewed_at = time.monotonic()
            self.drain()


def _opened_at(session: psycopg.Connection) -> float:
    return session.opened_at  # type: ignore[attr-defined]
