"""Django's PostgreSQL backend, which closes sessions as soon as they are useless.

A session may still respond although its server was demoted or is about to stop. Every error passes
through `SessionErrors`, even one that the caller handles, so callers need not close anything.
"""

import select
from contextlib import suppress
from functools import cached_property
from typing import ClassVar

import psycopg
from django.core.exceptions import BadRequest
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper

from config.db.postgresql.pool import SessionPool
from config.db.postgresql.sessions import configure, ends_session


class UnusableText(BadRequest, ValueError):
    """Text that the database cannot hold. The response to such a request is 400."""


class SessionErrors(DatabaseErrorWrapper):
    wrapper: "DatabaseWrapper"

    def __exit__(self, exc_type, exc_value, traceback):
        if isinstance(exc_value, psycopg.DataError) and "NUL (0x00)" in str(exc_value):
            raise UnusableText("NUL in a text") from None
        if ends_session(exc_value):
            self.wrapper.is_spent = True
        super().__exit__(exc_type, exc_value, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    is_spent = False
    _connection_pools: ClassVar[dict[str, SessionPool]] = {}

    @cached_property
    def wrap_database_errors(self) -> SessionErrors:
        return SessionErrors(self)

    @property
    def pool(self) -> SessionPool | None:
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            pool = SessionPool(
                kwargs={**self.get_connection_params(), "autocommit": True},
                configure=self._configure_connection,
                open=False,
                **options,
            )
            # If two threads race, one pool is kept. The other was never opened.
            self._connection_pools.setdefault(self.alias, pool)
        return self._connection_pools[self.alias]

    def connect(self) -> None:
        self.is_spent = False
        super().connect()

    def close_if_health_check_failed(self) -> None:
        """Runs before each statement. Replaces a dead session outside a transaction, so a thread
        that keeps its connection recovers without help."""
        in_autocommit = self.autocommit and not self.in_atomic_block
        if self.connection is not None and in_autocommit and self._is_over():
            self.close()
        super().close_if_health_check_failed()

    def _is_over(self) -> bool:
        if self.is_spent or self.connection.closed:
            return True
        # The server sends a message when it ends a session. Only then is a round trip worth it.
        return _has_unread(self.connection) and not self.is_usable()

    def _configure_connection(self, connection: psycopg.Connection) -> bool:
        must_commit = super()._configure_connection(connection)  # type: ignore[misc]
        configure(connection)
        return must_commit or not connection.autocommit

    def _close(self) -> None:
        if self.is_spent and self.pool and self.connection is not None:
            # The pool takes a closed connection back by opening another one.
            with suppress(psycopg.Error):
                self.connection.close()
        super()._close()  # type: ignore[misc]


def _has_unread(connection: psycopg.Connection) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
