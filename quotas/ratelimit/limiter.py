"""How often, at the most: refuses what is too much, and stands in nobody's way when it cannot tell.

    windows ──> Limiter.check ──> None       let through: measured, or not to be measured
                                  Limited    full: by which rule, and for how long

It fails open. A store that is absent, raises, hangs, lies or is full, and a rule that makes no
sense, let the request through; each such request is counted (`bypassed`), so that staff
are told. Nothing is written for a request, but in the store of the counts: this process's memory,
or Redis.

A rule that guards a secret is always counted in this process's memory as well: a
crowd can make Redis late, but it cannot make this process forget what it has let through.
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
from limits import RateLimitItem, RateLimitItemPerSecond, WindowStats
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from quotas import identity
from quotas.ratelimit import bypassed
from quotas.ratelimit.breaker import BUDGET, Guard, InconsistentStoreReply, NotMeasured
from quotas.ratelimit.memory import BoundedMemory
from quotas.states import WhyUnmeasured

CLOCKS_DIFFER = 1.0
"""Seconds, between the machines that share a store."""
LOOKS = 3
"""At a window that is full and has room by turns, since others come and time goes on."""
MEANWHILE = 1
"""Seconds, in which the reason of a refusal is looked at."""


class LookingBack(RateLimitItemPerSecond):
    """The same window, begun earlier: what went out of it since the refusal is told of too."""

    def get_expiry(self) -> int:
        return super().get_expiry() + MEANWHILE


@dataclass(frozen=True)
class Rule:
    """At most so many in any stretch of time this long, of one key."""

    name: str
    most: int
    within: timedelta
    guards_secret: bool = False

    @property
    def lets_something_through(self) -> bool:
        return self.most >= 1 and self.within >= timedelta(seconds=1)

    def item(self, kind: type[RateLimitItem] = RateLimitItemPerSecond) -> RateLimitItem:
        return kind(self.most, int(self.within.total_seconds()), self.name)


@dataclass(frozen=True)
class Window:
    """What a rule counts for one key. Keys of any text stay apart."""

    rule: Rule
    key: str

    @property
    def identifier(self) -> str:
        """Short, and nothing of a person in the store."""
        return salted_hmac("limits", self.key, algorithm="sha256").hexdigest()[:32]


@dataclass(frozen=True)
class Limited:
    rule: Rule
    seconds: int
    """After which one more is let through, at least 1."""


class Limits(Protocol):
    def check(self, windows: Iterable[Window]) -> Limited | None: ...


class NoLimits:
    def check(self, windows: Iterable[Window]) -> Limited | None:
        return None


class Limiter:
    def __init__(
        self,
        counts_of: Callable[[Rule], MovingWindowRateLimiter],
        guard: Guard,
        prepare: Callable[[], object] = lambda: None,
        here: "Limiter | None" = None,
    ) -> None:
        """`prepare` runs before each check, in the thread of the request. `here` counts in this
        process what guards a secret, where the store is elsewhere."""
        self._counts_of = counts_of
        self._here = here
        self._guard = guard
        self._prepare = prepare

    def check(self, windows: Iterable[Window]) -> Limited | None:
        """Count the request in each window up to the first that is full. Never raises, not even
        where finding out which windows fails."""
        # Before the store is used: a bad rule is no fault of the store.
        found = list(_countable(windows))
        return self._ask_store(found) or self._count_here(found) if found else None

    def _ask_store(self, found: Sequence[tuple[Window, RateLimitItem]]) -> Limited | None:
        try:
            self._prepare()
            return self._guard.ask(lambda: self._first_full(found))
        except NotMeasured as exc:
            bypassed.note(exc.why)
        except Exception:  # noqa: BLE001 - whatever it is, it must not be the outage
            bypassed.note(WhyUnmeasured.FAULT)
        return None

    def _count_here(self, found: Sequence[tuple[Window, RateLimitItem]]) -> Limited | None:
        """After the store let it through: what the store refuses does not count here either."""
        if self._here is None:
            return None
        return self._here.check(window for window, _item in found if window.rule.guards_secret)

    def _first_full(self, windows: Sequence[tuple[Window, RateLimitItem]]) -> Limited | None:
        for window, item in windows:
            limited = _hit(window, item, self._counts_of(window.rule))
            if limited:
                return limited
        return None


def _countable(windows: Iterable[Window]) -> Iterator[tuple[Window, RateLimitItem]]:
    """What a fault leaves of them: it must not take those along that were found before it."""
    try:
        for window in windows:
            if window.rule.lets_something_through:
                yield window, window.rule.item()
            else:
                bypassed.note(WhyUnmeasured.FAULT)
    except Exception:  # noqa: BLE001 - as above
        bypassed.note(WhyUnmeasured.FAULT)


def _hit(window: Window, item: RateLimitItem, counts: MovingWindowRateLimiter) -> Limited | None:
    """A refusal counts only where the store's own numbers bear it out. That there is room just
    after there was none is no lie yet: the oldest hit went out of the window in between."""
    for _ in range(LOOKS):
        if counts.hit(item, window.identifier):
            return None
        stats = counts.get_window_stats(window.rule.item(LookingBack), window.identifier)
        if stats.remaining == 0:
            return _refusal(window.rule, stats)
    raise InconsistentStoreReply


def _refusal(rule: Rule, stats: WindowStats) -> Limited:
    left = stats.reset_time - MEANWHILE - timezone.now().timestamp()
    longest = rule.within.total_seconds()
    if not -CLOCKS_DIFFER <= left <= longest + CLOCKS_DIFFER:
        raise InconsistentStoreReply
    return Limited(rule, min(max(1, math.ceil(left)), math.ceil(longest)))


@cache
def limiter() -> Limits:
    """The one of this process."""
    if settings.RATE_LIMITS == "OFF":
        return NoLimits()
    return in_redis(settings.REDIS_URL) if settings.RATE_LIMITS == "REDIS" else in_memory()


def in_memory() -> Limiter:
    """Each rule has a store of its own, so that a flood of one pushes out nothing of another."""
    counted: dict[Rule, MovingWindowRateLimiter] = {}

    def counts_of(rule: Rule) -> MovingWindowRateLimiter:
        # Of those who ask first at the same moment all get the one that was there first.
        return counted.get(rule) or counted.setdefault(rule, _empty_memory())

    return Limiter(counts_of, Guard(budget=None))


def _empty_memory() -> MovingWindowRateLimiter:
    forgot = partial(bypassed.note, WhyUnmeasured.FULL)
    return MovingWindowRateLimiter(BoundedMemory(forgot=forgot))


def in_redis(url: str) -> Limiter:
    """Made when the store is first asked for, so that an address it cannot read is one more way
    for it to fail."""

    @cache
    def counts() -> MovingWindowRateLimiter:
        return MovingWindowRateLimiter(store())

    @cache
    def store() -> RedisStorage:
        return _redis_at(url)

    def hang_up() -> None:
        store().storage.connection_pool.disconnect()

    guard = Guard(budget=BUDGET, hang_up=hang_up)
    return Limiter(lambda rule: counts(), guard, prepare=identity.learn_site_id, here=in_memory())


class StrictRedisStorage(RedisStorage):
    """The library takes all that is true for a hit that was counted; the script says 1 or nil."""

    def prefixed_key(self, key: str) -> str:
        """Sites on one Redis count apart, even with the same SECRET_KEY."""
        return super().prefixed_key(f"{identity.known_site_id()}:{key}")

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        arguments = [timezone.now().timestamp(), limit, expiry, amount]
        said = self.lua_acquire_moving_window([self.prefixed_key(key)], arguments)
        if said not in (1, None):
            raise InconsistentStoreReply
        return said == 1


def _redis_at(url: str) -> RedisStorage:
    """Whatever the client would wait for or try again is cut: the guard decides about that."""
    return StrictRedisStorage(
        url,
        key_prefix=f"{settings.Q_CLUSTER['name']}-limits",
        socket_timeout=BUDGET,
        socket_connect_timeout=BUDGET,
        retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]
    )
