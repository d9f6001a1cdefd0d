"""The supervisor's rules, with small children in place of the site's."""

import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

import psutil
import pytest

from config.supervisor.children import Child, Role
from config.supervisor.questions import NOTHING, Answer
from config.supervisor.watch import LONGEST_WAIT, SILENT_FOR, BackOff, Keeper, Supervisor
from tests.site_process import wait_until

OBEYS = "import time; time.sleep(60)"
IGNORES_TERM = (
    "import signal, sys, time; signal.signal(15, signal.SIG_IGN);"
    "open(sys.argv[1], 'w').close(); time.sleep(60)"
)
HAS_A_CHILD = (
    "import subprocess, sys, time;"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"
)


def role(code: str = OBEYS, name: str = "web", **options: bool) -> Role:
    return Role(name, (sys.executable, "-c", code), **options)


def cluster() -> Role:
    return role(name="cluster", holds_calls=True)


def sandbox() -> Role:
    return role(name="sandbox", stops_last=True)


@pytest.fixture
def stubborn(tmp_path):
    """A cluster that does not end when asked, and `is_deaf()`: whether it got that far."""
    deaf = tmp_path / "deaf"
    command = (sys.executable, "-c", IGNORES_TERM, str(deaf))
    return Role("cluster", command, holds_calls=True), deaf.exists


@dataclass
class Site:
    """A house whose database says what the test wants, looked after until the test ends."""

    house: Supervisor
    answer: list[Answer]
    seen: list[dict] = field(default_factory=list)

    def says(self, *, busy: int = 0, wedged: bool = False) -> None:
        self.answer[:] = [Answer(busy, wedged, ticker_is_silent=False, at=0.0)]

    def look_until(self, condition) -> None:
        def look():
            self.house.look()
            return condition()

        wait_until(look)

    def child(self, number: int = 0) -> Child:
        child = self.house.keepers[number].child
        assert child is not None
        return child


@pytest.fixture
def keep():
    """keep(role, ...) starts a house; whatever it still runs is killed afterwards."""
    houses: list[Supervisor] = []

    def start(*roles: Role, **timing: float) -> Site:
        answer = [NOTHING]
        seen: list[dict] = []
        house = Supervisor(
            list(roles),
            ask=lambda: answer[0],
            changed=seen.append,
            **{"wedge_grace": 0, "submit_timeout": 60, "stop_grace": 30} | timing,
        )
        houses.append(house)
        house.look()
        return Site(house, answer, seen)

    yield start
    for house in houses:
        for keeper in house.keepers:
            if keeper.child:
                keeper.child.end_group()


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def stopping(monkeypatch):
    """stopping(site) stops it beside the test, killing at once whom nothing holds. While children
    end, none but that thread may look at them: it takes their ids back."""
    monkeypatch.setattr("config.supervisor.watch.KILL_AFTER", 0)
    threads = []

    def stop(site: Site) -> threading.Thread:
        threads.append(threading.Thread(target=site.house.stop))
        threads[-1].start()
        return threads[-1]

    yield stop
    for thread in threads:
        thread.join(30)


@pytest.fixture
def said(monkeypatch) -> list[str]:
    """What the supervisor told the operator."""
    lines: list[str] = []
    monkeypatch.setattr("config.supervisor.watch.say", lines.append)
    return lines


def signals_at(monkeypatch, house: Supervisor, *instants: float) -> None:
    clock = iter(instants)
    with monkeypatch.context() as patch:
        patch.setattr("config.supervisor.watch.time", SimpleNamespace(monotonic=clock.__next__))
        for _ in instants:
            house._take_signal(signal.SIGTERM, None)


class TestBackOff:
    def test_it_doubles_up_to_ten_seconds(self):
        back_off = BackOff()
        delays = [back_off.delay_after(lived=1) for _ in range(8)]
        assert delays == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]

    def test_a_life_of_thirty_seconds_starts_it_anew(self):
        back_off = BackOff()
        for _ in range(6):
            back_off.delay_after(lived=1)
        assert back_off.delay_after(lived=30) == 0.2
        assert back_off.delay_after(lived=1) == 0.4


class TestDeath:
    def test_a_dead_child_is_started_again(self, keep):
        site = keep(role())
        first = site.child().pid
        os.kill(first, signal.SIGKILL)
        site.look_until(lambda: site.seen[-1].get("web") not in (first, None))

    def test_it_waits_before_it_starts_again(self):
        keeper = Keeper(role("pass"))
        keeper.look(now=0.0)
        wait_until(keeper.child.has_ended)
        keeper.look(now=100.0)
        assert not keeper.look(now=100.1)
        assert keeper.look(now=100.25)
        keeper.child.end_group()

    def test_the_rest_of_its_group_dies_first(self, keep):
        site = keep(role(HAS_A_CHILD))
        leader = site.child().pid
        orphan = wait_until(lambda: psutil.Process(leader).children())[0].pid
        os.kill(leader, signal.SIGKILL)
        site.look_until(lambda: site.seen[-1].get("web") not in (leader, None))
        wait_until(lambda: not is_running(orphan))

    def test_the_others_are_left_alone(self, keep):
        site = keep(role(), role(name="ticker"))
        ticker = site.child(1).pid
        os.kill(site.child(0).pid, signal.SIGKILL)
        site.look_until(lambda: len(site.seen) == 3)
        assert site.seen[-1]["ticker"] == ticker


class TestWedge:
    def test_a_wedged_cluster_is_started_again(self, keep):
        site = keep(cluster())
        first = site.child().pid
        site.says(wedged=True)
        site.look_until(lambda: site.seen[-1].get("cluster") not in (first, None))

    def test_not_while_a_request_is_in_the_air(self, keep):
        site = keep(cluster())
        site.says(wedged=True, busy=1)
        for _ in range(3):
            site.house.look()
        assert not site.child().has_ended()

    def test_a_request_holds_it_up_for_the_longest_a_request_takes(self, keep):
        site = keep(cluster(), submit_timeout=0)
        first = site.child()
        site.says(wedged=True, busy=1)
        site.look_until(first.has_ended)

    def test_a_young_cluster_is_not_blamed_for_its_predecessor(self, keep):
        site = keep(cluster(), wedge_grace=60)
        site.says(wedged=True)
        site.house.look()
        assert not site.child().has_ended()

    def test_nothing_else_is_ended_for_it(self, keep):
        site = keep(role(), cluster())
        site.says(wedged=True)
        site.look_until(lambda: len(site.seen) == 3)
        assert site.seen[-1]["web"] == site.seen[0]["web"]


class TestStop:
    def test_all_are_asked_and_end(self, keep):
        site = keep(role(), cluster(), sandbox())
        pids = list(site.house.pids().values())
        site.house.stop()
        assert not any(is_running(pid) for pid in pids)

    def test_who_does_not_listen_is_killed(self, keep, stubborn):
        role, is_deaf = stubborn
        site = keep(role)
        wait_until(is_deaf)
        started_at = time.monotonic()
        site.house.stop()
        assert site.child().has_ended()
        assert time.monotonic() - started_at < 25

    def test_a_request_in_the_air_is_waited_for(self, keep, stubborn, stopping, said):
        role, is_deaf = stubborn
        site = keep(role, stop_grace=600)
        wait_until(is_deaf)
        site.says(busy=2)
        stop = stopping(site)
        wait_until(lambda: said)
        assert said == [
            "counterfoil: waiting up to 600 s for 2 paid requests to finish; "
            "press Ctrl-C again to stop now (outcomes may be lost)"
        ]
        assert not site.child().has_ended()
        site.says(busy=0)
        stop.join(30)
        assert site.child().has_ended()

    def test_not_for_longer_than_the_grace(self, keep, stubborn, monkeypatch):
        monkeypatch.setattr("config.supervisor.watch.KILL_AFTER", 0)
        role, is_deaf = stubborn
        site = keep(role, stop_grace=0.2)
        wait_until(is_deaf)
        site.says(busy=1)
        site.house.stop()
        assert site.child().has_ended()

    def test_a_second_signal_cuts(self, keep, stubborn, monkeypatch):
        role, is_deaf = stubborn
        site = keep(role)
        wait_until(is_deaf)
        site.says(busy=1)
        signals_at(monkeypatch, site.house, 0.0, 0.6)
        site.house.stop()
        assert site.child().has_ended()

    def test_one_signal_that_arrives_twice_does_not(self, keep, monkeypatch):
        site = keep(cluster())
        signals_at(monkeypatch, site.house, 0.0, 0.1)
        assert not site.house._cut

    def test_the_sandbox_goes_after_the_last_call(self, keep, stubborn, stopping, said):
        role, is_deaf = stubborn
        site = keep(role, sandbox(), stop_grace=600)
        wait_until(is_deaf)
        site.says(busy=1)
        stop = stopping(site)
        wait_until(lambda: "for a paid request to finish" in "".join(said))
        assert not site.child(1).has_ended()
        site.says(busy=0)
        stop.join(30)
        assert site.child(0).has_ended()
        assert site.child(1).has_ended()


@pytest.fixture
def door():
    """A port that nobody else can have, closed until it listens."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        yield door


def waiting_for(door: socket.socket) -> Keeper:
    return Keeper(Role("cluster", (sys.executable, "-c", OBEYS), waits_for=door.getsockname()))


def test_who_waits_for_another_starts_when_that_one_answers(door):
    keeper = waiting_for(door)
    assert not keeper.look(1.0)
    door.listen()
    assert keeper.look(2.0)
    keeper.child.end_group()


def test_who_waits_in_vain_starts_without(door):
    keeper = waiting_for(door)
    assert not keeper.look(1.0)
    assert not keeper.look(1.0 + LONGEST_WAIT - 0.1)
    assert keeper.look(1.0 + LONGEST_WAIT)
    keeper.child.end_group()


SILENT = Answer(busy_workers=0, cluster_is_wedged=False, ticker_is_silent=True, at=0.0)


@pytest.fixture
def ticker():
    keeper = Keeper(Role("ticker", (sys.executable, "-c", OBEYS), beats=True))
    keeper.look(time.monotonic())
    yield keeper
    keeper.child.end_group()


def test_a_ticker_that_stays_silent_is_ended(ticker):
    now = time.monotonic()
    ticker.end_if_silent(SILENT, now)
    assert not ticker.child.has_ended()
    ticker.end_if_silent(SILENT, now + SILENT_FOR)
    assert ticker.child.has_ended()


def test_a_ticker_that_was_heard_in_between_goes_on(ticker):
    now = time.monotonic()
    ticker.end_if_silent(SILENT, now)
    ticker.end_if_silent(NOTHING, now + SILENT_FOR)
    ticker.end_if_silent(SILENT, now + SILENT_FOR + 1)
    assert not ticker.child.has_ended()
