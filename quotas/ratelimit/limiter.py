"""The rate limiter. It fails open.

    windows ──> Limiter.check ──> None       passes: counted, or impossible to count
                                  Limited    refused: by which rule, and for how long

If the counter store is absent, raises, hangs, is inconsistent or full, or if a rule is broken, the
request passes. Each such request is counted (`bypassed`), so that staff get an alert. A request
writes to the counter store only, which is this process's memory or Redis.

A rule that guards a secret is counted in this process's memory as well. A flood can slow Redis
down until it is bypassed, but this process still counts.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import Protocol

from django.conf import settings
from django.utils import timezone
from django.utils.crypto import salted_hmac
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from quotas import identity
from quotas.ratelimit import bypassed
from quotas.ratelimit.breaker import BUDGET, GuardedStore, InconsistentStoreReply, StoreUnavailable
from quotas.ratelimit.memory import BoundedMemory
from quotas.states import BypassReason

CLOCK_SKEW = 1.0
"""Seconds, between the machines that share a store."""
READS = 3
"""Tries at a window that changes between the hit and the read, because others use it."""
READ_DELAY = 1
"""Seconds that may pass between a refusal and the read of its reason."""


class ExtendedWindow(RateLimitItemPerSecond):
    """The same window with an earlier start, so that hits that expired since the refusal count."""

    def get_expiry(self) -> int:
        return super().get_expiry() + READ_DELAY


@dataclass(frozen=True)
class Rule:
    """At most `most` requests of one key in any period of the length `within`."""

    name: str
    most: int
    within: timedelta
    guards_secret: bool = False

    @property
    def is_valid(self) -> bool:
        return self.most >= 1 and self.within >= timedelta(seconds=1)

    def item(self, kind: type[RateLimitItem] = RateLimitItemPerSecond) -> RateLimitItem:
        return kind(self.most, int(self.within.total_seconds()), self.name)


@dataclass(frozen=True)
class Window:
    """What a rule counts for one key, which may be any text."""

    rule: Rule
    key: str

    @property
    def identifier(self) -> str:
        """Short, and free of personal data."""
        return salted_hmac("limits", self.key, algorithm="sha256").hexdigest()[:32]


@dataclass(frozen=True)
class Limited:
    rule: Rule
    seconds: int
    """After which one more request passes, at least 1."""


class Limits(Protocol):
    def check(self, windows: Iterable[Window]) -> Limited | None: ...


class NoLimits:
    def check(self, windows: Iterable[Window]) -> Limited | None:
        return None


class Limiter:
    def __init__(
        self,
        find_counter: Callable[[Rule], MovingWindowRateLimiter],
        store: GuardedStore,
        prepare: Callable[[], object] = lambda: None,
        local: "Limiter | None" = None,
    ) -> None:
        """`prepare` runs before each check, in the thread of the request. `local` counts the rules
        that guard a secret in this process, if the store is remote."""
        self._find_counter = find_counter
        self._local = local
        self._store = store
        self._prepare = prepare

    def check(self, windows: Iterable[Window]) -> Limited | None:
        """Count the request in each window, up to the first that is full. Never raises, even if
        the iteration over `windows` does."""
        # Before the store is called, because a bad rule is no failure of the store.
        found = list(_countable(windows))
        return self._check_store(found) or self._check_local(found) if found else None

    def _check_store(self, found: Sequence[tuple[Window, RateLimitItem]]) -> Limited | None:
        try:
            self._prepare()
            return self._store.call(lambda: self._first_full(found))
        except StoreUnavailable as exc:
            bypassed.count(exc.reason)
        except Exception:  # noqa: BLE001 - the limiter must not cause an outage
            bypassed.count(BypassReason.FAULT)
        return None

    def _check_local(self, found: Sequence[tuple[Window, RateLimitItem]]) -> Limited | None:
        """Runs after the store, so a request that the store refuses is not counted here either."""
        if self._local is None:
            return None
        return self._local.check(window for window, _item in found if window.rule.guards_secret)

    def _first_full(self, windows: Sequence[tuple[Window, RateLimitItem]]) -> Limited | None:
        for window, item in windows:
            limited = _hit(window, item, self._find_counter(window.rule))
            if limited:
                return limited
        return None


def _countable(windows: Iterable[Window]) -> Iterator[tuple[Window, RateLimitItem]]:
    """The windows that can be counted. A fault does not lose those found before it."""
    try:
        for window in windows:
            if window.rule.is_valid:
                yield window, window.rule.item()
            else:
                bypassed.count(BypassReason.FAULT)
    except Exception:  # noqa: BLE001 - as above
        bypassed.count(BypassReason.FAULT)


def _hit(window: Window, item: RateLimitItem, counter: MovingWindowRateLimiter) -> Limited | None:
    """Accept a refusal only if the store's numbers confirm it. Room right after a refusal is not
    inconsistent yet: the oldest hit may have expired in between."""
    for _ in range(READS):
        if counter.hit(item, window.identifier):
            return None
        stats = counter.get_window_stats(window.rule.item(ExtendedWindow), window.identifier)
        if stats.remaining == 0:
            left = stats.reset_time - READ_DELAY - timezone.now().timestamp()
            longest = window.rule.within.total_seconds()
            if not -CLOCK_SKEW <= left <= longest + CLOCK_SKEW:
                raise InconsistentStoreReply
            return Limited(window.rule, min(max(1, math.ceil(left)), math.ceil(longest)))
    raise InconsistentStoreReply


@cache
def limiter() -> Limits:
    """This process's limiter."""
    if settings.RATE_LIMITS == "OFF":
        return NoLimits()
    return in_redis(settings.REDIS_URL) if settings.RATE_LIMITS == "REDIS" else in_memory()


def in_memory() -> Limiter:
    """Each rule has its own store, so that a flood of one rule evicts no keys of another."""
    counted: dict[Rule, MovingWindowRateLimiter] = {}

    def find_counter(rule: Rule) -> MovingWindowRateLimiter:
        # Threads that come first at the same moment all get the same store.
        return counted.get(rule) or counted.setdefault(rule, _empty_memory())

    return Limiter(find_counter, GuardedStore(budget=None))


def _empty_memory() -> MovingWindowRateLimiter:
    evicted = partial(bypassed.count, BypassReason.FULL)
    return MovingWindowRateLimiter(BoundedMemory(on_evict=evicted))


def in_redis(url: str) -> Limiter:
    """The client is created on first use, so that an invalid URL counts as a failed store."""

    @cache
    def counter() -> MovingWindowRateLimiter:
        return MovingWindowRateLimiter(storage())

    @cache
    def storage() -> RedisStorage:
        return _redis_at(url)

    def disconnect() -> None:
        storage().storage.connection_pool.disconnect()

    store = GuardedStore(budget=BUDGET, disconnect=disconnect)
    return Limiter(lambda rule: counter(), store, prepare=identity.learn_site_id, local=in_memory())


class StrictRedisStorage(RedisStorage):
    """The library accepts any true value as a counted hit; the script returns only 1 or nil."""

    def prefixed_key(self, key: str) -> str:
        """Sites that share a Redis have separate counters, even with the same SECRET_KEY."""
        return super().prefixed_key(f"{identity.known_site_id()}:{key}")

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        arguments = [timezone.now().timestamp(), limit, expiry, amount]
        reply = self.lua_acquire_moving_window([self.prefixed_key(key)], arguments)
        if reply not in (1, None):
            raise InconsistentStoreReply
        return reply == 1


def _redis_at(url: str) -> RedisStorage:
    """Without the client's own waits and retries, which GuardedStore handles."""
    return StrictRedisStorage(
        url,
        key_prefix=f"{settings.Q_CLUSTER['name']}-limits",
        socket_timeout=BUDGET,
        socket_connect_timeout=BUDGET,
        retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]
    )
