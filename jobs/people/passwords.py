"""Django's password hashers, a few at a time.

A hash takes a core for a third of a second, and any try to sign in needs one. So a few run at once,
some wait for a bounded time, and none holds a database connection meanwhile. The hash that Django
makes for an unknown name takes its turn like any other.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

from django.contrib.auth import hashers

from jobs.database.connections import give_back_connections

AT_ONCE = min(4, max(1, (os.cpu_count() or 1) // 2))
MOST_WAITING = 30
WAIT_SECONDS = 10.0


class TooManyPasswords(Exception):
    """No turn came in time: the password was not looked at."""


_turns = BoundedSemaphore(AT_ONCE)
_waiting = BoundedSemaphore(AT_ONCE + MOST_WAITING)


@contextmanager
def turn() -> Iterator[None]:
    """Inside a transaction it does not wait: this may be SQLite's only writer."""
    if not give_back_connections():
        yield
        return
    if not _waiting.acquire(blocking=False):
        raise TooManyPasswords
    try:
        if not _turns.acquire(timeout=WAIT_SECONDS):
            raise TooManyPasswords
        try:
            yield
        finally:
            _turns.release()
    finally:
        _waiting.release()


class _InTurn(hashers.BasePasswordHasher):
    """`verify` and `harden_runtime` hash by `encode` too."""

    def encode(self, *args: Any, **options: Any) -> Any:
        with turn():
            return super().encode(*args, **options)


class PBKDF2(_InTurn, hashers.PBKDF2PasswordHasher):
    pass


class PBKDF2SHA1(_InTurn, hashers.PBKDF2SHA1PasswordHasher):
    pass


class Scrypt(_InTurn, hashers.ScryptPasswordHasher):
    pass
