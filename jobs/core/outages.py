"""The database is away for a while: which errors say so, and how to outlast it."""

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import InterfaceError, InternalError, OperationalError, connection

from jobs.database import integrity
from jobs.database.file import database_file

log = logging.getLogger(__name__)

OUTAGES = (OperationalError, InterfaceError, InternalError)
PATIENCE = timedelta(minutes=10)


def describe(exc: BaseException) -> str:
    """For logs and commands, after "the database"."""
    if integrity.is_damage(exc):
        file = database_file()
        return f"is malformed{f' ({file})' if file else ''}: stop the site and restore a backup"
    return f"cannot be used now ({type(exc).__name__})"


def outlast(write: Callable[[], object]) -> None:
    """Try again until it is written: what is in our hands now is known nowhere else."""
    until = time.monotonic() + PATIENCE.total_seconds()
    while True:
        try:
            write()
            return
        except OUTAGES as exc:
            if time.monotonic() >= until:
                raise
            log.warning("The database %s; holding on to an answer", describe(exc))
            connection.close()
            time.sleep(1)
