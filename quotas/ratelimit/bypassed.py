"""Counts the requests that the limiter let through without counting them against a limit.

A request only adds one to a counter of this process. A timer thread adds the sums to the rows of
the day and writes a log line, at most once a minute. Without a database the sums are kept until it
is back.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from threading import Lock, Timer

from django.db import Error, connection, transaction
from django.db.models import F
from django.utils import timezone

from quotas.days import utc_day
from quotas.models import Unmeasured
from quotas.states import BypassReason

log = logging.getLogger(__name__)

FLUSH_EVERY = 60.0
# The first is written soon, so that an alert can open.
FIRST_FLUSH_AFTER = 1.0


def start_timer(seconds: float, act: Callable[[], None]) -> None:
    timer = Timer(seconds, act)
    timer.daemon = True
    timer.start()


class Tally:
    def __init__(self, set_timer: Callable[[float, Callable[[], None]], None] = start_timer):
        self._set_timer = set_timer
        self._lock = Lock()
        self._counts: Counter[BypassReason] = Counter()
        self._flushed_at = -FLUSH_EVERY
        self._is_flush_due = False

    def count(self, reason: BypassReason) -> None:
        """Never raises, since a request calls it."""
        with self._lock:
            self._counts[reason] += 1
        self._schedule_flush()

    def _schedule_flush(self) -> None:
        with self._lock:
            if self._is_flush_due:
                return
            self._is_flush_due = True
            rest = self._flushed_at + FLUSH_EVERY - time.monotonic()
        try:
            self._set_timer(max(FIRST_FLUSH_AFTER, rest), self._flush_from_thread)
        except RuntimeError:
            # The system could not start a thread; the next request tries again.
            self._is_flush_due = False

    def unflushed(self) -> dict[BypassReason, int]:
        with self._lock:
            return dict(self._counts)

    def _flush_from_thread(self) -> None:
        try:
            self.flush(timezone.now())
        finally:
            connection.close()

    def flush(self, now: datetime) -> None:
        with self._lock:
            counts, self._counts = self._counts, Counter()
            self._is_flush_due, self._flushed_at = False, time.monotonic()
        if not counts:
            return
        listed = ", ".join(f"{reason.value} {many}" for reason, many in sorted(counts.items()))
        log.warning("Rate limiter let requests through uncounted: %s", listed)
        try:
            record(counts, now)
        except Error as exc:
            log.warning("Saving these counts failed, next try in a minute: %s", type(exc).__name__)
            with self._lock:
                self._counts.update(counts)
            self._schedule_flush()


def record(counts: dict[BypassReason, int], now: datetime) -> None:
    """Add the counts to the rows of the day. Safe while other processes do the same."""
    with transaction.atomic():
        for reason, many in sorted(counts.items()):
            row, is_new = Unmeasured.objects.get_or_create(
                day=utc_day(now), why=reason, defaults={"requests": many, "last_at": now}
            )
            if not is_new:
                today = Unmeasured.objects.filter(pk=row.pk)
                today.update(requests=F("requests") + many, last_at=now)


tally = Tally()


def count(reason: BypassReason) -> None:
    tally.count(reason)
