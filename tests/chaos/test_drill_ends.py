"""The drill ended in the middle."""

import signal
import subprocess

import psutil
import pytest

from tests.chaos.drill_process import drill
from tests.site_process import running, wait_until

pytestmark = pytest.mark.site


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
