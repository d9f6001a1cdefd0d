"""A job of three works that is killed, or suspended for longer than its lease, at each point, and
many that are ordered at once: nothing is paid twice, oversold or left open, and each attempt is
settled once. On SQLite and on PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import psutil
import pytest

from tests import databases
from tests.jobs.kinds.trio_process import PROVIDERS, Book

POINTS = (
    "job_committed",
    "ask_leased",
    "call_committed",
    "submit_answered",
    "submit_recorded",
    "poll_claimed",
    "poll_answered",
    "poll_recorded",
)
# Where a death leaves a doubt: how often the request was executed.
DOUBT = {"call_committed": 0, "submit_answered": 1}
# The provider of the first part is the first to be sent to, and so the one whose sender dies.
LATER, AT_ONCE = ("first", "second", "third"), ("third", "first", "second")
CASES = [(point, LATER) for point in POINTS] + [(point, AT_ONCE) for point in POINTS[1:5]]
ENDINGS = {"ready", "failed", "cancelled"}
HOUR = 3600
CONTENDERS, ORDERS, SLOTS = 4, 10, 15


class Workers:
    """One process after another on one database, each later by its clock than the one before."""

    def __init__(self, database: databases.Database, folder) -> None:
        self.folder, self.shift = folder, 0.0
        self.fault = folder / "fault"
        self.child = subprocess.Popen(
            [sys.executable, "-m", "tests.jobs.kinds.trio_process", str(folder)],
            env=database.environment(folder) | {"COUNTERFOIL_FAULTPOINT_FILE": str(self.fault)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str, *parts: str, kill_at: str = "") -> dict:
        if kill_at:
            self.fault.write_text(f"{kill_at}:kill")
        self.begin(command, *parts)
        return self.end()

    def begin(self, command: str, *parts: str) -> None:
        assert self.child.stdin
        self.child.stdin.write(f"{command} {self.shift} {','.join(parts)}\n")
        self.child.stdin.flush()

    def end(self) -> dict:
        assert self.child.stdout
        ran = json.loads(self.child.stdout.readline())
        # A lease of the one that died has lapsed by then.
        self.shift = (ran["end"] or {}).get("shift", self.shift + HOUR)
        return ran

    def executed(self, job: str) -> dict[str, int]:
        """How often each part was executed, by the providers' own books."""
        works = [work for name in PROVIDERS for work in Book(self.folder, name).works()]
        return {part: works.count(f"trio:{job}:{part}") for part in LATER}

    def close(self) -> None:
        self.child.kill()
        self.child.communicate()


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def start(request, tmp_path_factory):
    """Start another process on the same database and with the same providers."""
    folder = tmp_path_factory.mktemp("trio")
    with ExitStack() as stack:
        if request.param == "sqlite":
            template = request.getfixturevalue("migrated_sqlite")
            database = databases.copy_sqlite(template, folder)
        else:
            database = stack.enter_context(request.getfixturevalue("copy_postgres")())

        def start_one() -> Workers:
            found = Workers(database, folder)
            stack.callback(found.close)
            return found

        yield start_one


@pytest.fixture(scope="module")
def workers(start):
    return start()


@pytest.fixture(scope="module")
def others(start):
    return start()


def test_undisturbed_each_work_is_paid_once_and_the_job_is_settled_once(workers):
    ran = workers.run("place", *LATER)
    assert ran["code"] == 0
    end = ran["end"]
    assert workers.executed(end["job"]) == {"first": 1, "second": 1, "third": 1}
    assert (end["state"], end["attempt"]) == ("ready", "success")
    assert [name for name in end["events"] if name in ENDINGS] == ["ready"]
    assert end["violations"] == []


@pytest.mark.parametrize(("point", "parts"), CASES)
def test_a_death_at_any_point_pays_at_most_once_and_settles_once(workers, point, parts):
    assert workers.run("place", *parts, kill_at=point)["code"] == -9
    ran = workers.run("work")
    assert ran["code"] == 0
    end = ran["end"]
    times = dict.fromkeys(LATER, 1)
    if point in DOUBT:
        times[parts[0]] = DOUBT[point]
    assert workers.executed(end["job"]) == times
    states = dict(end["calls"])
    assert len(end["calls"]) == len(states) == 3
    assert states[parts[0]] == ("given_up" if point in DOUBT else "succeeded")
    assert (end["state"], end["attempt"]) == ("ready", "success")
    assert end["held"] == end["jobs"]
    assert [name for name in end["events"] if name in ENDINGS] == ["ready"]
    assert end["violations"] == []


@pytest.mark.parametrize(("point", "parts"), CASES)
def test_a_suspension_longer_than_the_lease_changes_nothing(workers, others, point, parts):
    hit = workers.fault.with_name("fault.hit")
    hit.unlink(missing_ok=True)
    workers.fault.write_text(f"{point}:stop")
    workers.begin("place", *parts)
    suspended = psutil.Process(wait_for_process(hit))
    others.shift = workers.shift + HOUR
    assert others.run("turn")["code"] == 0
    os.kill(suspended.pid, signal.SIGCONT)
    ran = workers.end()
    assert ran["code"] == 0
    end = ran["end"]
    assert workers.executed(end["job"]) == {"first": 1, "second": 1, "third": 1}
    assert (end["state"], end["attempt"]) == ("ready", "success")
    assert end["held"] == end["jobs"]
    assert [name for name in end["events"] if name in ENDINGS] == ["ready"]
    assert end["violations"] == []


def wait_for_process(hit) -> int:
    """Its number, once it is stopped."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if hit.exists():
            number = int(hit.read_text())
            if psutil.Process(number).status() == psutil.STATUS_STOPPED:
                return number
        time.sleep(0.02)
    raise AssertionError("no process reached the point")


def test_orders_of_many_processes_are_never_oversold(each_database, tmp_path):
    with ExitStack() as stack:
        contenders = [Workers(each_database, tmp_path) for _ in range(CONTENDERS)]
        for contender in contenders:
            stack.callback(contender.close)
            contender.begin("order", str(ORDERS), str(SLOTS))
        slots = [slot for contender in contenders for slot in contender.end()["end"]["slots"]]
    assert sorted(slots) == list(range(1, SLOTS + 1))
