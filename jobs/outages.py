"""The database is away for a while: which errors say so, and how to outlast it."""

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import InterfaceError, InternalError, OperationalError, connection

log = logging.getLogger(__name__)

OUTAGES = (OperationalError, InterfaceError, InternalError)
PATIENCE = timedelta(minutes=10)


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
            log.warning("Database away (%s): holding on to an answer", type(exc).__name__)
            connection.close()
            time.sleep(1)
