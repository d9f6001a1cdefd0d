"""`up.json` in the data folder lists the processes of this site for the next start.

A process id may be reused; together with the start time it is unique. The record is
written once a process runs. If two starts race, `up.lock` lets one win.
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
    """Distinguishes this process from any later one with the same id; empty if it has ended."""
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
        """False if another process of this host holds the folder. The lock lasts until this process
        ends; forks do not inherit a lockf lock. A file system without locks always allows it."""
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
        """Kill what a killed `up` left behind. Only for a folder without a running `up`."""
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
