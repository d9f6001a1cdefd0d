"""`up.json` in the data folder: which processes this site runs, so that the next start can tell.

A process id alone proves nothing, since ids are used again; with the instant it started it does.
The record is written once something runs; of two starts at the same time `up.lock` lets one win.
"""

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from jobs.core.holders import start_of

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def start_mark(pid: int) -> str:
    """What tells this process from any other that ever has the same id; empty if it is gone."""
    if sys.platform != "linux":
        found = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return found.stdout.strip()
    started = start_of(pid)
    return "" if started is None else f"{BOOT_ID.read_text().strip()}/{started}"


class Records:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "up.json"

    def write(self, children: dict[str, int]) -> None:
        record = {
            "host": socket.gethostname(),
            "up": self._entry(os.getpid()),
            "children": {name: self._entry(pid) for name, pid in children.items()},
        }
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(record, indent=1), encoding="utf-8")
        draft.replace(self.path)

    def claim(self) -> bool:
        """False when another process of this host has the folder. It is ours until we end, however
        we end; by lockf, which no fork inherits. A file system without locks refuses nobody."""
        file = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(file)
            return exc.errno not in (errno.EACCES, errno.EAGAIN)
        return True

    def running_up(self) -> int:
        """The id of an `up` that runs on this folder and this host; 0 if there is none."""
        entry = self._read().get("up", {})
        return entry["pid"] if self._is_alive(entry) else 0

    def sweep(self) -> list[str]:
        """Ends what a killed `up` left behind. Only for a folder without a running one."""
        swept = []
        for name, entry in self._read().get("children", {}).items():
            if self._is_alive(entry):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(entry["pid"], signal.SIGKILL)
                swept.append(name)
        return swept

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)

    def _read(self) -> dict:
        try:
            record = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record if record.get("host") == socket.gethostname() else {}

    @staticmethod
    def _entry(pid: int) -> dict:
        return {"pid": pid, "started": start_mark(pid)}

    @staticmethod
    def _is_alive(entry: dict) -> bool:
        return bool(entry.get("started")) and start_mark(entry["pid"]) == entry["started"]
