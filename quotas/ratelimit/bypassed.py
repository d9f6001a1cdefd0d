"""What the limiter let through without measuring: counted in this process, told in a while.

A request only adds one here. A thread of its own writes the sums into the rows of the day, at most
once a minute, and a line into the log; without a database it keeps them until there is one.
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

from quotas.ledger import utc_day
from quotas.models import Unmeasured
from quotas.states import WhyUnmeasured

log = logging.getLogger(__name__)

TELL_EVERY = 60.0
TELL_FIRST_AFTER = 1.0


def start_timer(seconds: float, act: Callable[[], None]) -> None:
    timer = Timer(seconds, act)
    timer.daemon = True
    timer.start()


class Tally:
    def __init__(self, set_timer: Callable[[float, Callable[[], None]], None] = start_timer):
        self._set_timer = set_timer
        self._lock = Lock()
        self._counts: Counter[WhyUnmeasured] = Counter()
        self._told_at = -TELL_EVERY
        self._is_to_be_told = False

    def note(self, why: WhyUnmeasured) -> None:
        """A first one is told at once, so that an alert can open; then once a minute. Never raises:
        a request stands behind it."""
        with self._lock:
            self._counts[why] += 1
        self._tell_in_time()

    def _tell_in_time(self) -> None:
        with self._lock:
            if self._is_to_be_told:
                return
            self._is_to_be_told = True
            rest = self._told_at + TELL_EVERY - time.monotonic()
        try:
            self._set_timer(max(TELL_FIRST_AFTER, rest), self._tell_from_thread)
        except RuntimeError:
            # The system has no thread to give; the next one tries again.
            self._is_to_be_told = False

    def counts(self) -> dict[WhyUnmeasured, int]:
        """What is not told yet."""
        with self._lock:
            return dict(self._counts)

    def _tell_from_thread(self) -> None:
        try:
            self.tell(timezone.now())
        finally:
            connection.close()

    def tell(self, now: datetime) -> None:
        with self._lock:
            counts, self._counts = self._counts, Counter()
            self._is_to_be_told, self._told_at = False, time.monotonic()
        if not counts:
            return
        said = ", ".join(f"{why.value} {many}" for why, many in sorted(counts.items()))
        log.warning("Requests let through without a measure: %s", said)
        try:
            record(counts, now)
        except Error as exc:
            log.warning("They are written down a minute later: %s", type(exc).__name__)
            with self._lock:
                self._counts.update(counts)
            self._tell_in_time()


def record(counts: dict[WhyUnmeasured, int], now: datetime) -> None:
    """Add them to the day's sums; safe beside other processes."""
    with transaction.atomic():
        for why, many in sorted(counts.items()):
            row, is_new = Unmeasured.objects.get_or_create(
                day=utc_day(now), why=why, defaults={"requests": many, "last_at": now}
            )
            if not is_new:
                today = Unmeasured.objects.filter(pk=row.pk)
                today.update(requests=F("requests") + many, last_at=now)


tally = Tally()


def note(why: WhyUnmeasured) -> None:
    tally.note(why)
