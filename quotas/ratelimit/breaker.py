"""Protects the limiter from a counter store that is absent, raises, hangs or returns nonsense.

    closed ──(FAILURES in a row)──> open ──(PROBE_EVERY)──> half-open ──probe answered──> closed
                                     ▲                          │
                                     └──────probe failed────────┘

Closed: requests pass to the store. Open: they are blocked at once. Half-open: one of them probes
the store.

A reply may take BUDGET seconds. A remote store is called on one of THREADS threads, so a call that
hangs holds a thread and no request. A failed probe closes all connections to the store, which
frees the threads that hang on them.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import BoundedSemaphore, Lock
from typing import TypeVar

import redis

from quotas.states import BypassReason

T = TypeVar("T")

BUDGET = 0.05
FAILURES = 3
PROBE_EVERY = 1.0
THREADS = 8


class StoreUnavailable(Exception):
    """The store gave no usable reply."""

    def __init__(self, reason: BypassReason) -> None:
        super().__init__(reason)
        self.reason = reason


class InconsistentStoreReply(Exception):
    """The store returned impossible values."""


class GuardedStore:
    def __init__(
        self,
        *,
        budget: float | None,
        disconnect: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`budget` None: the store is this process's memory, which cannot hang. `disconnect` closes
        all connections to the store, including those that a thread is reading from."""
        self._breaker = Breaker(clock)
        self._disconnect = disconnect
        self._threads = StoreThreads(budget) if budget else None

    def call(self, operation: Callable[[], T]) -> T:
        """Raises StoreUnavailable."""
        is_probe = self._breaker.is_open
        if is_probe and not self._breaker.allow_probe():
            raise StoreUnavailable(self._breaker.reason)
        run = operation if is_probe else self._unless_open(operation)
        try:
            reply = self._threads.call(run) if self._threads else run()
        except StoreUnavailable:
            raise
        except Exception as exc:
            reason = classify(exc)
            self._breaker.record_failure(reason)
            if is_probe:
                with suppress(Exception):
                    self._disconnect()
            raise StoreUnavailable(reason) from exc
        self._breaker.record_success()
        return reply

    def _unless_open(self, operation: Callable[[], T]) -> Callable[[], T]:
        """The breaker may have opened while the call waited for a thread."""

        def run() -> T:
            if self._breaker.is_open:
                raise StoreUnavailable(self._breaker.reason)
            return operation()

        return run


def classify(exc: Exception) -> BypassReason:
    if isinstance(exc, InconsistentStoreReply):
        return BypassReason.INCONSISTENT
    is_late = isinstance(exc, (TimeoutError, redis.TimeoutError))
    return BypassReason.TIMEOUT if is_late else BypassReason.ERROR


class Breaker:
    """`reason` is that of the last failure."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._probe_at = 0.0
        self.reason = BypassReason.ERROR

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES

    def allow_probe(self) -> bool:
        """True for one call every PROBE_EVERY seconds."""
        with self._lock:
            if self._clock() < self._probe_at:
                return False
            self._probe_at = self._clock() + PROBE_EVERY
            return True

    def record_failure(self, reason: BypassReason) -> None:
        with self._lock:
            self.reason = reason
            self._failures += 1
            self._probe_at = self._clock() + PROBE_EVERY

    def record_success(self) -> None:
        if self._failures:
            with self._lock:
                self._failures = 0


class StoreThreads:
    """The threads that call a remote store. The wait for a free thread has the same budget as the
    reply."""

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._ended_at = 0.0
        self._free = BoundedSemaphore(THREADS)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="limiter")

    def call(self, operation: Callable[[], T]) -> T:
        begun = time.monotonic()
        if self._free.acquire(timeout=self._budget):
            return self._submit(operation).result(timeout=self._budget)
        # While other calls return, there are too many requests: that is no failure of the store.
        raise StoreUnavailable(BypassReason.TIMEOUT) if self._ended_at > begun else TimeoutError

    def _submit(self, operation: Callable[[], T]) -> Future[T]:
        try:
            reply = self._threads.submit(operation)
        except RuntimeError:
            # The system could not start a thread.
            self._free.release()
            raise
        reply.add_done_callback(self._end)
        return reply

    def _end(self, _reply: Future[T]) -> None:
        self._ended_at = time.monotonic()
        self._free.release()
