"""The counts of one rule in this process's memory: for each key the instants of its hits.

Not the library's own memory, which looks through all keys a hundred times a second and never
forgets one while it lives. Here a hit costs the same however many keys there are, and the one
that was hit longest ago is forgotten for a new one.
"""

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from django.utils import timezone
from limits.storage import MovingWindowSupport, Storage

MOST_KEYS = 20_000


class BoundedMemory(Storage, MovingWindowSupport):
    """Of the library's two ways to count it has the moving window alone.

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

    def __len__(self) -> int:
        return len(self._hits)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        now = timezone.now().timestamp()
        with self._lock:
            hits = self._counted(key, now, expiry)
            if len(hits) + amount > limit:
                return False
            hits.extend([now] * amount)
            self._hits[key] = hits
            self._hits.move_to_end(key)
            oldest = self._hits.popitem(last=False)[1] if self._is_full else None
        if oldest and oldest[-1] > now - expiry:
            self._forgot()
        return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        now = timezone.now().timestamp()
        with self._lock:
            hits = self._counted(key, now, expiry)
            return (hits[0], len(hits)) if hits else (now, 0)

    @property
    def _is_full(self) -> bool:
        return len(self._hits) > self._most_keys

    def _counted(self, key: str, now: float, expiry: int) -> "array[float]":
        """Those of the window that ends now. What lies in the future was written before the clock
        was set back, and would refuse until it comes."""
        hits = self._hits.get(key) or array("d")
        del hits[bisect_right(hits, now) :]
        del hits[: bisect_right(hits, now - expiry)]
        return hits

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        raise NotImplementedError("moving windows are all it counts")

    def get(self, key: str) -> int:
        return len(self._hits.get(key, ()))

    def get_expiry(self, key: str) -> float:
        raise NotImplementedError("when a moving window ends depends on its rule")

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
