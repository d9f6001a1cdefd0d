"""Reads the status of the processes from the database, in a thread of its own.

A slow or dead database must delay neither a restart nor a stop, so the supervisor only uses the
last status. Without a recent one it assumes that nothing is wedged and no request is in flight.
"""

import threading
import time
from dataclasses import dataclass

from django.db import Error, connection
from django.utils import timezone

ASK_EVERY = 0.5
FRESH_FOR = 5.0


@dataclass(frozen=True)
class Answer:
    busy_workers: int
    cluster_is_wedged: bool
    ticker_is_silent: bool
    at: float


NOTHING = Answer(busy_workers=0, cluster_is_wedged=False, ticker_is_silent=False, at=0.0)


class Questions:
    def __init__(self) -> None:
        self._last = NOTHING

    def start(self) -> None:
        threading.Thread(target=self._ask_for_ever, name="questions", daemon=True).start()

    def answer(self) -> Answer:
        return self._last if time.monotonic() - self._last.at < FRESH_FOR else NOTHING

    def _ask_for_ever(self) -> None:
        while True:
            self.ask_once()
            time.sleep(ASK_EVERY)

    def ask_once(self) -> None:
        try:
            self._last = ask()
        except Error:
            connection.close()


def ask() -> Answer:
    from jobs.core import heartbeats, leases

    at, now = time.monotonic(), timezone.now()
    return Answer(
        busy_workers=leases.busy_workers(),
        cluster_is_wedged=heartbeats.cluster_is_wedged(now),
        ticker_is_silent=not heartbeats.ticker_is_alive(now),
        at=at,
    )
