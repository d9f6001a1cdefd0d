"""Counters of one rule in this process's memory: the times of the hits of each key.

The library's own memory store scans all keys a hundred times a second and never evicts one. Here
the cost of a hit does not depend on the number of keys. Each hit removes a few expired keys, so
the size follows the traffic of one window. If the store is full, the least recently hit key is
evicted.
"""

import sys
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from django.utils import timezone
from limits.storage import MovingWindowSupport, Storage

MOST_KEYS = 20_000
# One more than a hit can add.
EXPIRED_PER_HIT = 2


class BoundedMemory(Storage, MovingWindowSupport):
    """For one rule, so that all windows have the same length. All windows move, even those that the
    library calls fixed.

    `on_evict` is called when a key is evicted that has not expired.
    """

    STORAGE_SCHEME = ["counterfoil-memory"]

    def __init__(
        self, *, on_evict: Callable[[], None] = lambda: None, most_keys: int = MOST_KEYS
    ) -> None:
        super().__init__()
        self._on_evict = on_evict
        self._most_keys = most_keys
        self._hits: OrderedDict[str, array[float]] = OrderedDict()
        self._lock = Lock()
        self._expiry = 0

    def __len__(self) -> int:
        return len(self._hits)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        return bool(self._add(key, limit, expiry, amount))

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        with self._lock:
            now = timezone.now().timestamp()
            hits = self._counted(key, now, expiry)
            return (hits[0], len(hits)) if hits else (now, 0)

    def _add(self, key: str, limit: int, expiry: int, amount: int) -> int:
        """The new count; 0 if it would exceed the limit, and then nothing is added."""
        with self._lock:
            now = timezone.now().timestamp()
            self._expiry = expiry
            hits = self._counted(key, now, expiry)
            if len(hits) + amount > limit:
                return 0
            hits.extend([now] * amount)
            self._hits[key] = hits
            self._hits.move_to_end(key)
            self._remove_expired(now, expiry)
            many, is_full = len(hits), len(self._hits) > self._most_keys
            if is_full:
                self._hits.popitem(last=False)
        if is_full:
            self._on_evict()
        return many

    def _remove_expired(self, now: float, expiry: int) -> None:
        """The least recently hit keys come first."""
        for _ in range(EXPIRED_PER_HIT):
            key, hits = next(iter(self._hits.items()))
            if hits and now - expiry < hits[-1] <= now:
                return
            del self._hits[key]

    def _counted(self, key: str, now: float, expiry: int) -> "array[float]":
        """The hits of the window that ends now. Call under the lock. Hits in the future are from
        before the clock was set back; counted, they would refuse requests until then."""
        hits = self._hits.get(key) or array("d")
        del hits[bisect_right(hits, now) :]
        del hits[: bisect_right(hits, now - expiry)]
        return hits

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        return self._add(key, sys.maxsize, int(expiry), amount)

    def get(self, key: str) -> int:
        return self.get_moving_window(key, 0, self._expiry)[1]

    def get_expiry(self, key: str) -> float:
        """When the oldest counted hit expires; now if there is none."""
        oldest, many = self.get_moving_window(key, 0, self._expiry)
        return oldest + self._expiry if many else oldest

    def check(self) -> bool:
        return True

    def reset(self) -> int:
        with self._lock:
            many = len(self._hits)
            self._hits.clear()
        return many

    def clear(self, key: str) -> None:
        with self._lock:
            self._hits.pop(key, None)
