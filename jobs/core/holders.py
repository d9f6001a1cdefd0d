"""Who holds a lease, in words that let any process of the same machine see that the holder died.

A holder is `machine/pid/start/random`. Another machine's holder is judged only by time.
"""

import os
import secrets
import socket
from functools import cache
from pathlib import Path


@cache
def _machine() -> str:
    """This boot of this machine, and this process-id namespace (containers share neither)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:13]
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return socket.gethostname()[:60]
    return f"{boot}-{namespace}"


_mine: dict[int, str] = {}


def this_holder() -> str:
    """This process's name as a holder; a fork is another holder."""
    pid = os.getpid()
    if pid not in _mine:
        _mine.clear()
        _mine[pid] = f"{_machine()}/{pid}/{start_of(pid) or 0}/{secrets.token_hex(4)}"
    return _mine[pid]


def here() -> str:
    """What the name of every holder of this machine starts with."""
    return f"{_machine()}/"


def is_surely_dead(holder: str) -> bool:
    """True only when the process is known to be gone; False proves nothing."""
    machine, _, rest = holder.partition("/")
    if machine != _machine() or not Path("/proc/self/stat").exists():
        return False
    pid, start, _ = rest.split("/")
    return start_of(int(pid)) != int(start)


def start_of(pid: int) -> int | None:
    """The start time in clock ticks; None for a process that is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name, in brackets, may itself hold spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
