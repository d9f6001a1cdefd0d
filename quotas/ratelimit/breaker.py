"""Stands between the limiter and a store that may be absent, raise, hang or lie.

    closed ──(FAILURES in a row)──> open ──(PROBE_EVERY)──> one question ──answered──> closed
                                     ▲                          │
                                     └────────unanswered────────┘

An answer has BUDGET seconds; a store that may make one wait is asked on a thread of the guard's
own, so that whoever hangs there holds one of THREADS and no request. Nobody waits at all while the
breaker is open, and whoever still hangs then is hung up on, so that the threads come back.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import BoundedSemaphore, Lock
from typing import TypeVar

import redis

from quotas.states import WhyUnmeasured

T = TypeVar("T")

BUDGET = 0.05
FAILURES = 3
PROBE_EVERY = 1.0
THREADS = 8


class NotMeasured(Exception):
    """The store gave no answer that can be used."""

    def __init__(self, why: WhyUnmeasured) -> None:
        super().__init__(why)
        self.why = why


class InconsistentStoreReply(Exception):
    """The store said something that cannot be so."""


class Guard:
    def __init__(
        self,
        *,
        budget: float | None,
        hang_up: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`budget` None: the store is this process's memory, and cannot hang. `hang_up` ends all
        that is open to it, also under those who read."""
        self._breaker = Breaker(clock)
        self._hang_up = hang_up
        self._line = Line(budget) if budget else None

    def ask(self, question: Callable[[], T]) -> T:
        """Raises NotMeasured."""
        is_probe = self._breaker.is_open
        if is_probe and not self._breaker.may_probe():
            raise NotMeasured(self._breaker.why)
        try:
            answer = self._put(question) if is_probe else self._put(self._unless_open(question))
        except NotMeasured:
            raise
        except Exception as exc:
            why = why_of(exc)
            self._breaker.failed(why)
            if is_probe:
                with suppress(Exception):
                    self._hang_up()
            raise NotMeasured(why) from exc
        self._breaker.answered()
        return answer

    def _put(self, question: Callable[[], T]) -> T:
        return self._line.ask(question) if self._line else question()

    def _unless_open(self, question: Callable[[], T]) -> Callable[[], T]:
        """Of a crowd that waits for a thread those behind see how those before fared."""

        def look_first() -> T:
            if self._breaker.is_open:
                raise NotMeasured(self._breaker.why)
            return question()

        return look_first


def why_of(exc: Exception) -> WhyUnmeasured:
    if isinstance(exc, InconsistentStoreReply):
        return WhyUnmeasured.LIES
    is_late = isinstance(exc, (TimeoutError, redis.TimeoutError))
    return WhyUnmeasured.HANGS if is_late else WhyUnmeasured.RAISES


class Breaker:
    """Open: nobody asks. `why` is the last failure's."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._ask_at = 0.0
        self.why = WhyUnmeasured.RAISES

    @property
    def is_open(self) -> bool:
        return self._failures >= FAILURES

    def may_probe(self) -> bool:
        """Of those who come while it is open one gets through, each PROBE_EVERY seconds."""
        with self._lock:
            if self._clock() < self._ask_at:
                return False
            self._ask_at = self._clock() + PROBE_EVERY
            return True

    def failed(self, why: WhyUnmeasured) -> None:
        with self._lock:
            self.why = why
            self._failures += 1
            self._ask_at = self._clock() + PROBE_EVERY

    def answered(self) -> None:
        if self._failures:
            with self._lock:
                self._failures = 0


class Line:
    """The way to a store elsewhere: a few threads. A thread is waited for as long as an answer."""

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._ended_at = 0.0
        self._free = BoundedSemaphore(THREADS)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="limiter")

    def ask(self, question: Callable[[], T]) -> T:
        begun = time.monotonic()
        if self._free.acquire(timeout=self._budget):
            return self._begin(question).result(timeout=self._budget)
        # While others get through it is the crowd that is too large, and no fault of the store.
        raise NotMeasured(WhyUnmeasured.HANGS) if self._ended_at > begun else TimeoutError

    def _begin(self, question: Callable[[], T]) -> Future[T]:
        try:
            answer = self._threads.submit(question)
        except RuntimeError:
            # The system has no thread to give. The place is the next one's.
            self._free.release()
            raise
        answer.add_done_callback(self._end)
        return answer

    def _end(self, _answer: Future[T]) -> None:
        self._ended_at = time.monotonic()
        self._free.release()
