"""One drill from start to end: plan, hurt, heal, wait for quiet, reckon."""

import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import requests

from tests.drill import mutants, processes
from tests.drill.clock import Clock
from tests.drill.customers import Customers, Order
from tests.drill.desk import Desk
from tests.drill.disks import has_own_namespace
from tests.drill.house import House
from tests.drill.plan import EXTRAS, Plan, make_plan
from tests.drill.proxy import Proxy
from tests.drill.reckoning import Reckoning, reckon
from tests.drill.records import Books, Entry, Log, Refusal, books_from
from tests.drill.relay import Relay
from tests.drill.saboteur import Saboteur
from tests.drill.scales import LEAP
from tests.drill.stores import Grown, Sqlite
from tests.drill.wires import Wires
from tests.drill.wrongs import Wrong

START_WITHIN = 240
QUIET_WITHIN = 280
STUCK_AFTER = 60
LOOK_EVERY = 0.05
LEAP_AT = 0.4
EVERY_GREEDY = 3
MOST_OPEN = 24
LOOK_AT_CROWD = 3
CROWD_LASTS = 20
WORK_ENDS_WITHIN = 15


class NotStarted(Exception):
    """The site of the drill did not come up; the text is its log."""


@dataclass
class Outcome:
    plan: Plan
    reckoning: Reckoning
    books: Books
    injected: Counter[str]
    log: list[Entry]
    site_log: str
    lasted: float
    refused: int
    restless: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Injections that could not be done, and why."""
    is_permitted: bool = True
    """False where the machine does not permit mounts, which all that hurts a disk needs."""

    def found(self, kinds: Collection[str]) -> list[Wrong]:
        return [wrong for wrong in self.reckoning.wrongs if wrong.kind in kinds]


class Drill:
    """`say` gets the progress. Ends everything it started, however it ends."""

    def __init__(
        self,
        *,
        seed: int,
        rounds: int,
        stores: str,
        pace: float,
        mutant: str = "",
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.plan, self.pace, self.say = make_plan(seed, rounds, stores=stores), pace, say
        self.mutant = mutant
        self.folder = Path(tempfile.mkdtemp(prefix="drill-"))
        self.clock = Clock.make(self.folder / "clock")
        self.log = Log(self.clock.time)
        self.stores = Grown(self.folder) if stores == "postgres" else Sqlite(self.folder)
        planted = mutants.settings_for(mutant) if mutant else {}
        self.house = House(self.folder, self.plan, self.stores.settings | planted)
        self.proxy = Proxy(self.plan, self.house.ports["sandbox"], self.clock.time)
        self.relay = Relay(
            self.house.ports["web"], self.proxy.traffic.round_of_token, self.clock.time
        )
        self.wires = Wires(
            self.proxy, self.house.ports["proxy"], self.relay, self.house.ports["relay"]
        )
        self.saboteur = Saboteur(self.house, self.stores, self.log)
        self.customers = Customers(self.house.url, self.clock.time)
        self.desk: Desk | None = None
        self._has_leapt = False

    def run(self) -> Outcome:
        began = time.monotonic()
        try:
            self._start()
            self._hurt()
            orders = self._heal()
            restless = self._wait_for_quiet()
            books = self._read_books(orders)
            return Outcome(
                plan=self.plan,
                reckoning=reckon(books),
                books=books,
                injected=self.proxy.injected + self.relay.injected + self.saboteur.done,
                log=self.log.entries,
                site_log=self.house.logs(),
                lasted=time.monotonic() - began,
                refused=sum(order.status == 429 for order in orders),
                restless=restless,
                failed=self.saboteur.failed,
                is_permitted=has_own_namespace(),
            )
        finally:
            self._end()

    def _start(self) -> None:
        self.wires.start()
        self.stores.start()
        if not self._tend_until(self._answers, seconds=START_WITHIN):
            raise NotStarted(self.house.logs())
        self.desk = Desk(self.house.env, self.house.log_file)
        self.desk.ask("plant")
        self.clock.put_before_midnight(LEAP_AT * len(self.plan.rounds) * self.pace + LEAP)
        self.say("the site answers")

    def _answers(self) -> bool:
        """Web, ticker and workers, and the sandbox behind the proxy."""
        try:
            return (
                requests.get(f"{self.house.url}/readyz", timeout=5).status_code == 200
                and requests.get(self._bill_url(), timeout=5).status_code == 200
            )
        except requests.RequestException:
            return False

    def _hurt(self) -> None:
        acts: dict[int, list] = {}
        for act in self.plan.acts:
            acts.setdefault(act.before, []).append(act)
        customers = self.plan.customers()
        for each in self.plan.rounds:
            due_at = time.monotonic() + self.pace
            for act in acts.get(each.number, []):
                self.saboteur.act(act)
            self.customers.order(each)
            is_last = customers[each.customer][-1] is each
            if is_last and each.customer % EVERY_GREEDY == 0:
                for _ in range(EXTRAS):
                    self.customers.order_more(each.customer)
            if each.number % 50 == 49:
                self.say(f"{each.number + 1} rounds ordered")
            self._tend_until(partial(_is_past, due_at), seconds=self.pace)
            if each.number % LOOK_AT_CROWD == 0:
                self._tend_until(self._has_room, seconds=CROWD_LASTS, every=0.5)
        # Fault points that are still armed need a site at work.
        self._tend_until(lambda: not self.saboteur.is_at_work(), seconds=WORK_ENDS_WITHIN)

    def _has_room(self) -> bool:
        """A slow machine gets its rounds more slowly: what waits too long is no fault of the site.
        False while the database is away."""
        assert self.desk
        return self.desk.ask("open").get("jobs", 0) < MOST_OPEN

    def _heal(self) -> list[Order]:
        self.saboteur.heal()
        self.proxy.is_straight = True
        self.say("healed")
        self._tend_until(
            lambda: all(order.done() for order in self.customers.orders), seconds=QUIET_WITHIN
        )
        self._tend_until(self._answers, seconds=START_WITHIN)
        return self.customers.finish()

    def _wait_for_quiet(self) -> dict[str, int]:
        """Whatever is left after that is stuck, and reckoned so. Only what is to be fetched may
        wait long, until its result is given up."""
        restless: dict[str, int] = {}
        same_since = time.monotonic()

        def is_quiet() -> bool:
            nonlocal restless, same_since
            assert self.desk
            before, restless = restless, self.desk.ask("restless")
            if restless != before or restless.get("stages"):
                same_since = time.monotonic()
            is_stuck = time.monotonic() - same_since > STUCK_AFTER
            return is_stuck or (not any(restless.values()) and not self.relay.open)

        self._tend_until(is_quiet, seconds=QUIET_WITHIN, every=1.0)
        return restless

    def _read_books(self, orders: list[Order]) -> Books:
        assert self.desk
        self.say("quiet; reckoning")
        rows = self.desk.ask("rows")
        if "error" in rows:
            raise OSError(f"the rows cannot be read: {rows['error']}")
        audit = subprocess.run(
            processes.manage("audit", "--json", "--deep"),
            cwd=processes.ROOT,
            env=self.house.env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        bill = requests.get(self._bill_url(), timeout=30).json()
        accounts = rows["accounts"]
        refusals = tuple(
            Refusal(accounts.get(order.visitor, 0), order.began, order.ended)
            for order in orders
            if order.status == 429
        )
        return books_from(
            rows,
            bill,
            answered=dict(self.proxy.traffic.answered),
            silences=tuple(self.proxy.traffic.silences),
            polled=tuple(self.proxy.traffic.polled),
            fetched=tuple(self.proxy.traffic.fetched),
            named=dict(self.proxy.traffic.named),
            asked=dict(self.proxy.traffic.asked),
            taken=frozenset(self.relay.taken),
            refused=frozenset(self.relay.refused),
            refusals=refusals,
            audit=_audit_lines(audit),
            troubles=tuple(self.log.entries),
            accepted=frozenset(order.form_key for order in orders if order.status == 303),
            unanswered=sum(order.status == 0 for order in orders),
        )

    def _tend_until(
        self, condition: Callable[[], object], *, seconds: float, every: float = LOOK_EVERY
    ) -> bool:
        """Only from the main thread: a process is tied to the thread that starts it."""
        end_at = time.monotonic() + seconds
        ask_at = 0.0
        while True:
            self.stores.tend()
            self.house.tend()
            self.saboteur.tend()
            self._leap_at_midnight()
            now = time.monotonic()
            if now >= ask_at:
                if condition():
                    return True
                ask_at = now + every
            if now >= end_at:
                return False
            time.sleep(LOOK_EVERY)

    def _leap_at_midnight(self) -> None:
        left = self.clock.until_midnight()
        if not self._has_leapt and left <= LEAP:
            self._has_leapt = True
            self.clock.leap(left + 0.5)
            self.log.note("leap", "over midnight")
            self.saboteur.done["leap over midnight"] += 1

    def _bill_url(self) -> str:
        return f"http://127.0.0.1:{self.house.ports['sandbox']}/_ledger"

    def _end(self) -> None:
        with _undisturbed():
            self.customers.stop()
            if self.desk:
                self.desk.stop()
            self.house.stop()
            self.wires.stop()
            self.stores.stop()
            shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not leave behind what the first one was ending; it takes seconds."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _is_past(moment: float) -> bool:
    return time.monotonic() >= moment


def _audit_lines(audit: "subprocess.CompletedProcess[str]") -> tuple[str, ...]:
    try:
        found: list[dict[str, Any]] = json.loads(audit.stdout)["violations"]
    except (ValueError, KeyError):
        return (f"the audit ended with {audit.returncode}: {audit.stderr[-500:]}",)
    return tuple(f"{one['check']} {one['table']} {one['rows']}: {one['says']}" for one in found)
