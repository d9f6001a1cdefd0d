"""Keeps the children running, and stops them.

When a child ends, the rest of its process group is killed and the child is restarted with back-off.
A wedged cluster is killed as a group, but not while one of its workers has a paid request in
flight. A stop sends SIGTERM to each group leader and later kills what is left of its group.
"""

import signal
import time
from collections.abc import Callable

from config.supervisor.children import Child, Role, say
from config.supervisor.questions import Answer

LOOK_EVERY = 0.05
KILL_AFTER = 3.5
LONGEST_WAIT = 10.0
SILENT_FOR = 15.0
KILL_LAST_AFTER = 1.0
# Under `make` one SIGTERM arrives twice, from the caller and from make. That is one request.
SECOND_SIGNAL_AFTER = 0.5


class BackOff:
    """0.2 s, doubled up to 10 s with each early end; back to 0.2 s after a life of 30 s."""

    FIRST, MOST, RESET_AFTER = 0.2, 10.0, 30.0

    def __init__(self) -> None:
        self._next = self.FIRST

    def delay_after(self, lived: float) -> float:
        delay = self.FIRST if lived >= self.RESET_AFTER else self._next
        self._next = min(delay * 2, self.MOST)
        return delay


class Keeper:
    """Keeps one role running."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self.child: Child | None = None
        self.wedged_since: float | None = None
        self.silent_since: float | None = None
        self._start_at = 0.0
        self._waits_since: float | None = None
        self._back_off = BackOff()

    def look(self, now: float) -> bool:
        """True if the child has changed."""
        if self.child is None and now >= self._start_at and self._may_start(now):
            self.child = Child.start(self.role)
            return True
        if self.child is not None and self.child.has_ended():
            self._bury(self.child, now)
            return True
        return False

    def _may_start(self, now: float) -> bool:
        """Starts anyway after a while, since what the role waits for may be broken for good."""
        if self._waits_since is None:
            self._waits_since = now
        ready = self.role.may_start() or now - self._waits_since >= LONGEST_WAIT
        if ready:
            self._waits_since = None
        return ready

    def _bury(self, child: Child, now: float) -> None:
        child.end_group()
        delay = self._back_off.delay_after(now - child.started_at)
        self._start_at = now + delay
        self.child = self.wedged_since = self.silent_since = None
        say(f"counterfoil: {self.role.name} {child.ending()}; starting it again in {delay:g} s")

    def end_if_wedged(self, answer: Answer, now: float, *, grace: float, patience: float) -> None:
        """`grace`: how long a new cluster may leave its predecessor's probe unanswered. `patience`:
        how long a request in flight may delay the kill that would abort it."""
        if self.child is None or not answer.cluster_is_wedged:
            self.wedged_since = None
            return
        if now - self.child.started_at < grace:
            return
        if self.wedged_since is None:
            self.wedged_since = now
        if answer.busy_workers == 0 or now - self.wedged_since >= patience:
            say(f"counterfoil: {self.role.name} no longer takes work; killing it")
            self.child.end_group()

    def end_if_silent(self, answer: Answer, now: float) -> None:
        """Silent for long while the database responds: the ticker is stopped or hangs."""
        if self.child is None or not answer.ticker_is_silent:
            self.silent_since = None
            return
        if self.silent_since is None:
            self.silent_since = max(now, self.child.started_at)
        if now - self.silent_since >= SILENT_FOR:
            say(f"counterfoil: {self.role.name} is not responding; killing it")
            self.silent_since = None
            self.child.end_group()


class Supervisor:
    def __init__(
        self,
        roles: list[Role],
        *,
        ask: Callable[[], Answer],
        changed: Callable[[dict[str, int]], None],
        wedge_grace: float,
        submit_timeout: float,
        stop_grace: float,
    ) -> None:
        self.keepers = [Keeper(role) for role in roles]
        self.ask = ask
        self.changed = changed
        self.wedge_grace = wedge_grace
        self.submit_timeout = submit_timeout
        self.stop_grace = stop_grace
        self._first_signal_at: float | None = None
        self._cut = False

    def run(self, each_look: Callable[[], None] = lambda: None) -> None:
        """Returns after a stop signal, when no child is left."""
        signal.signal(signal.SIGINT, self._take_signal)
        signal.signal(signal.SIGTERM, self._take_signal)
        # Under nohup a closed terminal must change nothing.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._take_signal)
        try:
            while self._first_signal_at is None:
                self.look()
                each_look()
                time.sleep(LOOK_EVERY)
        finally:
            self.stop()

    def look(self) -> None:
        now = time.monotonic()
        answer = self.ask()
        changes = [keeper.look(now) for keeper in self.keepers]
        if any(changes):
            self.changed(self.pids())
        for keeper in self.keepers:
            if keeper.role.beats:
                keeper.end_if_silent(answer, now)
            if keeper.role.holds_calls:
                keeper.end_if_wedged(
                    answer, now, grace=self.wedge_grace, patience=self.submit_timeout
                )

    def pids(self) -> dict[str, int]:
        return {keeper.role.name: keeper.child.pid for keeper in self.keepers if keeper.child}

    def stop(self) -> None:
        children = [keeper.child for keeper in self.keepers if keeper.child]
        self._end([child for child in children if not child.role.stops_last], KILL_AFTER)
        self._end([child for child in children if child.role.stops_last], KILL_LAST_AFTER)

    def _end(self, children: list[Child], kill_after: float) -> None:
        for child in children:
            child.ask_to_end()
        asked_at = time.monotonic()
        told = False
        while children:
            waited = time.monotonic() - asked_at
            busy = self.ask().busy_workers
            waits_for_calls = busy > 0 and waited < self.stop_grace and not self._cut
            for child in list(children):
                may_stay = waited < kill_after or (child.role.holds_calls and waits_for_calls)
                if child.has_ended() or self._cut or not may_stay:
                    child.end_group()
                    children.remove(child)
            if not told and waits_for_calls and any(child.role.holds_calls for child in children):
                told = True
                self._say_what_it_waits_for(busy)
            time.sleep(LOOK_EVERY)

    def _say_what_it_waits_for(self, busy: int) -> None:
        requests = "a paid request" if busy == 1 else f"{busy} paid requests"
        say(
            f"counterfoil: waiting up to {self.stop_grace:g} s for {requests} to finish; "
            "press Ctrl-C again to stop now (outcomes may be lost)"
        )

    def _take_signal(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if self._first_signal_at is None:
            self._first_signal_at = now
        elif now - self._first_signal_at > SECOND_SIGNAL_AFTER:
            self._cut = True
