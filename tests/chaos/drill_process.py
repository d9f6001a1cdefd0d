"""The drill as a process of its own, short enough for the suite."""

import os
import subprocess
import sys

from tests.site_process import ROOT

ROUNDS = 42
# Hurts in each way that `test_drill_plan.py` lists, without a file that is waited for until its
# life is over.
SEED = 76521


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
