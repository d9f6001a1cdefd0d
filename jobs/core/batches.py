"""Runs large work in small transactions, so that a killed process loses only the last one."""

import time
from collections.abc import Callable


def run_batches(step: Callable[[], int], *, seconds: float) -> bool:
    """Repeat `step`, which returns how much it did, until it does nothing. True when there is more
    to do than the time allows."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.monotonic()
        if not step():
            return False
        # Leaves SQLite's writer to others for half of the time.
        time.sleep(time.monotonic() - started)
    return True
