"""A cache that keeps what was written to it in mind."""

from django.core.cache.backends.locmem import LocMemCache

writes: list[str] = []


def _noted(name: str):
    kept = getattr(LocMemCache, name)

    def write(self, *args, **kwargs):
        writes.append(name)
        return kept(self, *args, **kwargs)

    return write


class WatchedCache(LocMemCache):
    """All other ways to write are made of these."""

    add, set, touch, incr, delete, clear = map(
        _noted, ("add", "set", "touch", "incr", "delete", "clear")
    )
