"""Many processes on the same works: one call each, on SQLite and on PostgreSQL."""

import json
import subprocess
import sys
from collections import Counter

from tests.databases import ROOT

ENDS = {"done": "succeeded", "failed": "failed", "rejected": "rejected", "give_up": "given_up"}


def contend(database, mode, folder):
    done = subprocess.run(
        [sys.executable, "-m", "tests.providers.contenders", mode],
        cwd=ROOT,
        env=database.environment(folder),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert [answer["error"] for answer in answers if "error" in answer] == []
    return answers


def test_wall_lets_one_of_all_processes_through(each_database, tmp_path):
    answers = contend(each_database, "open", tmp_path)
    opened = Counter(work for answer in answers for work in answer["opened"])
    assert opened == {f"image:{number}": 1 for number in range(20)}
    assert all(answer["usable"] for answer in answers)


def test_call_ends_once_whoever_races(each_database, tmp_path):
    answers = contend(each_database, "record", tmp_path)
    ends = Counter(pk for answer in answers if answer["news"] in ENDS for pk in answer["changed"])
    assert len(ends) == 20
    assert set(ends.values()) == {1}


def test_cap_lets_in_as_many_as_fit(each_database, tmp_path):
    answers = contend(each_database, "cap", tmp_path)
    entered = Counter(day for answer in answers for day in answer["entered"])
    assert entered == dict.fromkeys(range(10), 7)
    assert all(answer["usable"] for answer in answers)


def test_one_probe_of_all_who_come_at_the_end_of_a_pause(each_database, tmp_path):
    answers = contend(each_database, "probe", tmp_path)
    entered = Counter(turn for answer in answers for turn in answer["entered"])
    assert entered == dict.fromkeys(range(10), 1)
