"""Half a minute of the drill as it is; with a planted defect; and ended in the middle."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.site_process import ROOT, running, wait_until

pytestmark = pytest.mark.site

ROUNDS = 42
# Hurts in each way that `test_drill_plan.py` lists, without a file that is waited for until its
# life is over.
SEED = 76521


OF_ANSWERS = ("wrong pictures", "results lost", "polled in silence", "fetched in vain")
# What depends on nothing but that the drill goes on.
MET = ("kill q-worker", "kill cluster", "kill web", "stop q-worker", "wire submit")
ON_DISKS = ("store data read-only", "store media full")


def drill(folder, *options: str, seed=SEED, rounds=ROUNDS) -> subprocess.Popen[str]:
    command = f"-m tests.drill --seed {seed} --rounds {rounds}".split()
    return subprocess.Popen(
        [sys.executable, *command, *options],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def outcome_of(child: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        said, errors = child.communicate(timeout=600)
    finally:
        child.terminate()
    return child.returncode, said + errors


def test_a_site_that_is_hurt_in_every_way_keeps_its_books(tmp_path):
    code, said = outcome_of(drill(tmp_path))
    assert code == 0, said
    for nothing in ("executed twice", "oversold", "undersold", "slots lost", "stuck", *OF_ANSWERS):
        assert f"\n{nothing} 0\n" in said
    done = said.partition("injected:")[2].partition("ends:")[0].replace("\n   ", "")
    met = MET if "NOT INJECTED" in said else MET + ON_DISKS
    assert [way for way in met if way not in done] == []
    assert list(tmp_path.iterdir()) == []


# (planted, found as, seed, rounds): each seed's plan meets the defect several times.
PLANTED = [("unknown-failed", "executed twice", SEED, ROUNDS), ("no-ids", "wrong picture", 708, 14)]


@pytest.mark.parametrize(("mutant", "kind", "seed", "rounds"), PLANTED)
def test_a_planted_defect_is_found(tmp_path, mutant, kind, seed, rounds):
    code, said = outcome_of(drill(tmp_path, "--mutant", mutant, seed=seed, rounds=rounds))
    assert code == 1, said
    assert f"{kind}: " in said


def all_below(child: subprocess.Popen[str]) -> list[psutil.Process]:
    """Nobody, until the whole house runs."""
    below = psutil.Process(child.pid).children(recursive=True)
    return below if len(below) > 10 else []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ended_in_the_middle_it_leaves_no_process(tmp_path, number):
    child = drill(tmp_path)
    try:
        assert child.stderr
        assert "the site answers" in child.stderr.readline()
        below = wait_until(lambda: all_below(child))
        child.send_signal(number)
        child.communicate(timeout=120)
        wait_until(lambda: running(below) == [])
    finally:
        child.kill()
    assert number == signal.SIGKILL or list(tmp_path.iterdir()) == []
