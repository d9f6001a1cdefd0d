"""A job of three works that is killed at each point: nothing is paid twice, oversold or left open,
and its attempt is settled once. On SQLite and on PostgreSQL."""

import json
import subprocess
import sys

import pytest

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
ORDERS = {"later": "first,second,third", "at_once": "third,first,second"}
"""Which kind of provider is the first to be sent to, and so the one whose sender dies."""
CASES = [(point, "later") for point in POINTS] + [(point, "at_once") for point in POINTS[1:5]]
ENDINGS = {"ready", "failed", "given_up", "cancelled"}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request):
    return request.getfixturevalue(f"{request.param}_database")


@pytest.fixture
def work(database, tmp_path):
    def run(*, kill_at: str = "", order: str = "later", shift: float = 0):
        fault = tmp_path / "fault"
        if kill_at:
            fault.write_text(f"{kill_at}:kill")
        environment = database.environment(tmp_path) | {
            "COUNTERFOIL_FAULTPOINT_FILE": str(fault),
            "TRIO_PARTS": ORDERS[order],
        }
        return subprocess.run(
            [sys.executable, "-m", "tests.jobs.kinds.trio_process", str(tmp_path), str(shift)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def executed(tmp_path):
    """How often each part was executed, by the providers' own books."""

    def count() -> dict[str, int]:
        works = [work for name in PROVIDERS for work in Book(tmp_path, name).works()]
        parts = [work.rpartition(":")[2] for work in works]
        return {part: parts.count(part) for part in ("first", "second", "third")}

    return count


def test_undisturbed_each_work_is_paid_once_and_the_job_is_settled_once(work, executed):
    ran = work()
    assert ran.returncode == 0, ran.stderr
    end = json.loads(ran.stdout)
    assert executed() == {"first": 1, "second": 1, "third": 1}
    assert (end["state"], end["attempt"], end["held"]) == ("ready", "success", 1)
    assert [name for name in end["events"] if name in ENDINGS] == ["ready"]
    assert end["violations"] == []


@pytest.mark.parametrize(("point", "order"), CASES)
def test_a_death_at_any_point_pays_at_most_once_and_settles_once(work, executed, point, order):
    died = work(kill_at=point, order=order)
    assert died.returncode == -9, died.stderr
    ran = work(order=order, shift=3600)
    assert ran.returncode == 0, ran.stderr
    end = json.loads(ran.stdout)
    dying = ORDERS[order].split(",")[0]
    times = {"first": 1, "second": 1, "third": 1}
    if point in DOUBT:
        times[dying] = DOUBT[point]
    assert executed() == times
    states = dict(end["calls"])
    assert len(end["calls"]) == len(states) == 3
    assert states[dying] == ("given_up" if point in DOUBT else "succeeded")
    assert (end["state"], end["attempt"], end["held"]) == ("ready", "success", 1)
    assert [name for name in end["events"] if name in ENDINGS - {"given_up"}] == ["ready"]
    assert end["violations"] == []
