"""Processes below one of ours, found in /proc; and how a drill starts what must die with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.supervisor import tether

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Found:
    pid: int
    parent: int
    name: str
    state: str


def start(
    command: Sequence[str], env: Mapping[str, str], log: IO[bytes], *, user: str = "", **pipes: int
) -> subprocess.Popen[bytes]:
    """In a session of its own, tied to the calling thread: call from the main thread only."""
    parent = os.getpid()
    return subprocess.Popen(
        command,
        cwd="/" if user else ROOT,
        env=env,
        stdin=pipes.get("stdin", subprocess.DEVNULL),
        stdout=pipes.get("stdout", log),
        stderr=log,
        start_new_session=True,
        user=user or None,
        group=user or None,
        extra_groups=[] if user else None,
        # After the change of user, which would undo the tie.
        preexec_fn=lambda: tether.tie_to(parent),
    )


def manage(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


def below(pid: int) -> list[Found]:
    """Everything that came from this process, itself first."""
    children: dict[int, list[Found]] = {}
    own: list[Found] = []
    for each in _all():
        children.setdefault(each.parent, []).append(each)
        if each.pid == pid:
            own.append(each)
    found = own
    for each in found:
        found.extend(children.get(each.pid, []))
    return [each for each in found if each.state not in "ZX"]


def _all() -> list[Found]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError):
                name, (state, parent, *_rest) = _stat_of(int(entry.name))
                found.append(Found(int(entry.name), int(parent), name, state))
    return found


def _stat_of(pid: int) -> tuple[str, list[str]]:
    """The name and what follows it: state, parent and so on."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.partition("(")[2].rpartition(")")[0], stat.rpartition(")")[2].split()


def send(pid: int, number: int, *, group: bool = False) -> bool:
    try:
        (os.killpg if group else os.kill)(pid, number)
    except ProcessLookupError:
        return False
    return True


def end(popen: subprocess.Popen[bytes], number: int, *, seconds: float) -> None:
    """Ask, wait, then kill it and all below it."""
    tree = below(popen.pid)
    if popen.poll() is None:
        popen.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            popen.wait(seconds)
    for each in {found.pid: found for found in [*tree, *below(popen.pid)]}.values():
        if each.pid != os.getpid() and _is_same(each):
            send(each.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        popen.wait(5)


def _is_same(found: Found) -> bool:
    """A process id may have been reused."""
    with suppress(OSError):
        return _stat_of(found.pid)[0] == found.name
    return False


def wait_until(condition, *, seconds: float, every: float = 0.05) -> bool:
    end_at = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end_at:
            return False
        time.sleep(every)
    return True
