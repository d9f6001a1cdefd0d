"""The clock of a drill: an offset in a file that every process of it maps, so that all of them
leap at the same instant. Outside of a drill nothing replaces the clock.
"""

import mmap
import os
import struct
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from tests.drill.patches import replace

VARIABLE = "COUNTERFOIL_DRILL_CLOCK"
SIZE = 8


class Clock:
    """Runs ahead of the machine's clock by the offset in the file (nanoseconds)."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._offset = mmap.mmap(file.fileno(), SIZE)
        self._real = time.time

    @classmethod
    def make(cls, path: Path) -> "Clock":
        path.write_bytes(bytes(SIZE))
        return cls(path)

    def set_ahead(self, seconds: float) -> None:
        # One slice, one copy of eight aligned bytes: no process reads half an offset.
        self._offset[:SIZE] = struct.pack("=q", round(seconds * 1e9))

    def time(self) -> float:
        return self._real() + struct.unpack("=q", self._offset[:SIZE])[0] / 1e9

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time(), UTC)

    def until_midnight(self) -> float:
        now = self.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        return (midnight - now).total_seconds()

    def put_before_midnight(self, seconds: float) -> None:
        self.leap(self.until_midnight() - seconds)

    def leap(self, seconds: float) -> None:
        self.set_ahead(self.time() - self._real() + seconds)


def install() -> None:
    """The product reads the time by `timezone.now`; the sandbox, cookies and signatures by
    `time.time`; the library that checks webhooks by `datetime.now`."""
    from django.utils import timezone
    from standardwebhooks import webhooks

    path = os.environ.get(VARIABLE)
    if not path:
        return
    clock = Clock(Path(path))

    class DrillDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "DrillDatetime":
            return cls.fromtimestamp(clock.time(), tz)

    replace(timezone, "now", clock.now)
    replace(time, "time", clock.time)
    replace(webhooks, "datetime", DrillDatetime)
