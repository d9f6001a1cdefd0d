"""The counts of one rule in this process's memory: for each key the instants of its hits.

Not the library's own memory, which looks through all keys a hundred times a second and never
forgets one while it lives. Here a hit costs the same however many keys there are. Each forgets
a few whose window is over, so that memory follows what comes within a window; where all still
count, the one that was hit longest ago goes for a new one.
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
FORGET_AT_ONCE = 2


class BoundedMemory(Storage, MovingWindowSupport):
    """One rule's, so that all its windows are equally long; moving ones, also for what the library
    counts by fixed ones.

    `forgot` is called when a key had to go that still counted.
    """

    STORAGE_SCHEME = ["counterfoil-memory"]

    def __init__(
        self, *, forgot: Callable[[], None] = lambda: None, most_keys: int = MOST_KEYS
    ) -> None:
        super().__init__()
        self._forgot = forgot
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
        """How many count then; 0 where they would be more than the limit, and none is added."""
        with self._lock:
            now = timezone.now().timestamp()
            self._expiry = expiry
            hits = self._counted(key, now, expiry)
            if len(hits) + amount > limit:
                return 0
            hits.extend([now] * amount)
            self._hits[key] = hits
            self._hits.move_to_end(key)
            self._forget_what_is_over(now, expiry)
            many, is_full = len(hits), len(self._hits) > self._most_keys
            if is_full:
                self._hits.popitem(last=False)
        if is_full:
            self._forgot()
        return many

    def _forget_what_is_over(self, now: float, expiry: int) -> None:
        """Of those hit longest ago, which stand first."""
        for _ in range(FORGET_AT_ONCE):
            key, hits = next(iter(self._hits.items()))
            if hits and now - expiry < hits[-1] <= now:
                return
            del self._hits[key]

    def _counted(self, key: str, now: float, expiry: int) -> "array[float]":
        """Those of the window that ends now, which is read under the lock: what lies in the future
        was written before the clock was set back, and would refuse until it comes."""
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
        """When the oldest that counts goes out of its window; now where none does."""
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
