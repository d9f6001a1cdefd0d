"""Carries out the plan: kills, stops, holds locks, arms fault points; and undoes it."""

import heapq
import signal
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from tests.drill import processes
from tests.drill.house import House
from tests.drill.plan import Act
from tests.drill.records import Log
from tests.drill.stores import Stores

POINT_LASTS = 5.0
# A file that is open already stays writable.
NOTICED_BY_NEWCOMERS = "data read-only"


class Saboteur:
    def __init__(self, house: House, stores: Stores, log: Log) -> None:
        self.house, self.stores, self.log = house, stores, log
        self.done: Counter[str] = Counter()
        self.failed: dict[str, str] = {}
        """What could not be done, and why."""
        self._undo: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._points: deque[Act] = deque()
        self._point: tuple[Act, float] | None = None

    def act(self, act: Act) -> None:
        happened = {"kill": self._kill, "stop": self._stop, "store": self._hurt}.get(
            act.kind, self._wait_in_line
        )(act)
        if happened:
            self.done[f"{act.kind} {act.target}"] += 1
            self.log.note(act.kind, act.target, seconds=act.seconds)

    def tend(self) -> None:
        while self._undo and self._undo[0][0] <= time.monotonic():
            heapq.heappop(self._undo)[2]()
        self._look_at_point()

    def is_at_work(self) -> bool:
        """A point waits to be met, or a sleeper has not slept long enough."""
        return bool(self._points or self._point or self._undo)

    def heal(self) -> None:
        self._points.clear()
        self._disarm()
        while self._undo:
            heapq.heappop(self._undo)[2]()
        self.house.wake_all()

    def _kill(self, act: Act) -> bool:
        target = self.house.target(act.target, act.pick)
        return target is not None and processes.send(target[0], signal.SIGKILL, group=target[1])

    def _stop(self, act: Act) -> bool:
        target = self.house.target(act.target, act.pick)
        if not target or not processes.send(target[0], signal.SIGSTOP, group=target[1]):
            return False
        pid, group = target
        self._later(act.seconds, lambda: processes.send(pid, signal.SIGCONT, group=group))
        return True

    def _hurt(self, act: Act) -> bool:
        try:
            undo = self.stores.hurt(act.target, act.pick)
        except OSError as exc:
            self.failed[f"store {act.target}"] = exc.strerror or type(exc).__name__
            return False
        if undo:
            self._later(act.seconds, undo)
        if undo and act.target == NOTICED_BY_NEWCOMERS:
            for name in ("cluster", "ticker", "web"):
                self._kill(Act(act.before, "kill", name))
        return undo is not None

    def _wait_in_line(self, act: Act) -> bool:
        """One point at a time is armed."""
        self._points.append(act)
        return False

    def _arm(self, act: Act) -> None:
        """The next process that reaches the point dies or sleeps."""
        self._hit().unlink(missing_ok=True)
        draft = self.house.point_file.with_name("draft")
        draft.write_text(f"{act.target}:{act.kind.partition(' ')[2]}")
        draft.rename(self.house.point_file)
        self._point = (act, time.monotonic() + POINT_LASTS)

    def _look_at_point(self) -> None:
        if not self._point:
            if self._points:
                self._arm(self._points.popleft())
            return
        act, until = self._point
        if self._hit().exists():
            self._point = None
            self.done[f"{act.kind} {act.target}"] += 1
            self.log.note(act.kind, act.target, seconds=act.seconds)
            if act.kind == "point stop":
                sleeper = int(self._hit().read_text())
                self._later(act.seconds, lambda: self._wake(sleeper))
        elif time.monotonic() >= until:
            self._disarm()

    def _wake(self, pid: int) -> None:
        if pid in {found.pid for found in self.house.processes()}:
            processes.send(pid, signal.SIGCONT)

    def _disarm(self) -> None:
        self._point = None
        with suppress(FileNotFoundError):
            self.house.point_file.unlink()

    def _hit(self):
        return self.house.point_file.with_name(f"{self.house.point_file.name}.hit")

    def _later(self, seconds: float, undo: Callable[[], object]) -> None:
        heapq.heappush(self._undo, (time.monotonic() + seconds, next(self._numbers), undo))
