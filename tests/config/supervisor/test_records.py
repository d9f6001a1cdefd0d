"""What the next start can tell of an earlier one."""

import json
import os
import signal
import subprocess
import sys

import pytest

from config.supervisor.records import Records, start_mark
from tests.site_process import ROOT


@pytest.fixture
def sleeper():
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
    )
    yield child
    child.kill()
    child.wait()


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path)


def written_by(records: Records, up: dict, child: dict) -> None:
    """As if an `up` with that entry had started that child."""
    records.write({})
    record = json.loads(records.path.read_text())
    record |= {"up": up, "children": {"web": child}}
    records.path.write_text(json.dumps(record))


def entry_of(pid: int) -> dict:
    return {"pid": pid, "started": start_mark(pid)}


DEAD = {"pid": 1, "started": "some other boot/1"}


def test_a_running_up_is_known(records):
    records.write({})
    assert records.running_up() == os.getpid()


def test_an_up_whose_id_was_given_to_another_is_not_running(records):
    written_by(records, DEAD, DEAD)
    assert records.running_up() == 0


def test_what_a_killed_up_left_is_ended(records, sleeper):
    written_by(records, DEAD, entry_of(sleeper.pid))
    assert records.sweep() == ["web"]
    assert sleeper.wait(30) == -signal.SIGKILL


def test_a_stranger_with_the_same_id_is_left_alone(records, sleeper):
    written_by(records, DEAD, {"pid": sleeper.pid, "started": "some other boot/1"})
    assert records.sweep() == []
    assert sleeper.poll() is None


def test_another_host_s_record_says_nothing(records, sleeper, monkeypatch):
    written_by(records, entry_of(os.getpid()), entry_of(sleeper.pid))
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    assert records.running_up() == 0
    assert records.sweep() == []


def test_no_record_and_a_broken_one_are_an_empty_one(records):
    assert records.running_up() == 0
    records.path.write_text("{")
    assert records.sweep() == []


CLAIM = """
import sys, time
from pathlib import Path
from config.supervisor.records import Records
print(Records(Path(sys.argv[1])).claim(), flush=True)
time.sleep(60)
"""


def test_of_two_starts_one_has_the_folder_until_it_ends(records, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as first:
        assert first.stdout.readline() == "True\n"
        assert not records.claim()
        first.kill()
    assert records.claim()


def test_a_process_that_ended_has_no_mark(sleeper):
    assert start_mark(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert start_mark(sleeper.pid) == ""
