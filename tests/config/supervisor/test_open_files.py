"""The web process may hold as many open pages as the machine lets it, and starts in any case."""

import resource
import subprocess
import sys

import pytest
from django.conf import settings

from config.supervisor import open_files

SOFT, HARD = 64, 512
RAISE = f"""
import resource
from config.supervisor import open_files
resource.setrlimit(resource.RLIMIT_NOFILE, ({SOFT}, {HARD}))
open_files.raise_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.fixture
def asked(monkeypatch):
    """asked(soft, hard, refused): what is asked for where the system refuses `refused`."""

    def ask(soft: int, hard: int, *refused: int) -> list[int]:
        numbers: list[int] = []

        def setrlimit(which: int, limit: tuple[int, int]) -> None:
            numbers.append(limit[0])
            if limit[0] in refused:
                raise ValueError("not allowed to raise maximum limit")

        monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
        monkeypatch.setattr(resource, "setrlimit", setrlimit)
        open_files.raise_limit()
        return numbers

    return ask


def test_open_files_are_raised_to_the_hard_limit():
    command = [sys.executable, "-c", RAISE]
    said = subprocess.check_output(command, cwd=settings.BASE_DIR, text=True, timeout=30)
    assert said.split() == [str(HARD), str(HARD)]


def test_where_unlimited_is_refused_a_number_is_asked_for(asked):
    unlimited = resource.RLIM_INFINITY
    assert asked(256, unlimited, unlimited, 65_536) == [unlimited, 65_536, 10_240]


def test_nothing_is_lowered(asked):
    assert asked(20_000, 30_000, 30_000) == [30_000, 65_536]
    assert asked(1024, 1024) == []
    assert asked(resource.RLIM_INFINITY, resource.RLIM_INFINITY) == []


def test_whatever_is_refused_the_process_starts(asked):
    assert asked(256, 4096, 4096, 65_536, 10_240) == [4096, 65_536, 10_240]
