"""The roles that `up` runs, and a running child, which has its own session and is tied to `up`."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings

from config.supervisor import open_files
from providers.adapters import registry

TETHER = Path(__file__).with_name("tether.py")
LONGEST_LINE = 64 * 1024
# One worker: SQLite has one writer, and each request has its own thread anyway.
MOST_CONNECTIONS = 16_384
# Open files for the database, pictures and logs.
FILES_BESIDES = 1_000
SERVER_OPTIONS = (
    *("--interface", "asginl", "--http", "1", "--no-ws", "--loop", "uvloop"),
    *("--workers", "1", "--workers-kill-timeout", "1", "--backlog", "4096"),
    # The limit on open connections, including idle ones and unfinished requests. It is more than
    # one machine opens easily, and slow connections have limits of their own.
    *("--backpressure", str(MOST_CONNECTIONS)),
    *("--log-level", "warning"),
)


@dataclass(frozen=True)
class Role:
    name: str
    command: tuple[str, ...]
    # The cluster's workers have paid requests in flight, so a stop waits for them. Only the cluster
    # can be wedged.
    holds_calls: bool = False
    # The ticker sends heartbeats, since a stopped or hanging process is not a dead one.
    beats: bool = False
    # The sandbox is a provider: it must outlive the workers that call it.
    stops_last: bool = False
    # This address must accept connections first: a worker that finds the sandbox's port closed
    # would rightly fail its request.
    waits_for: tuple[str, int] | None = None

    def may_start(self) -> bool:
        if self.waits_for is None:
            return True
        try:
            socket.create_connection(self.waits_for, timeout=0.2).close()
        except OSError:
            return False
        return True


def site_roles() -> list[Role]:
    def command(name: str) -> tuple[str, ...]:
        return (sys.executable, str(settings.BASE_DIR / "manage.py"), name)

    sandbox = (settings.SANDBOX_HOST, settings.SANDBOX_PORT) if runs_sandbox() else None
    roles = [
        Role("sandbox", command("sandbox"), stops_last=True),
        Role("cluster", command("cluster"), holds_calls=True, waits_for=sandbox),
        Role("ticker", command("ticker"), beats=True),
        Role("web", (sys.executable, "-P", "-m", "granian", *web_options())),
    ]
    return roles if runs_sandbox() else roles[1:]


def runs_sandbox() -> bool:
    return registry.uses_sandbox()


def web_options() -> tuple[str, ...]:
    """Allows fewer connections if the system allows fewer open files, because the server would spin
    on connections that it cannot accept."""
    address = ("--host", settings.HOST, "--port", str(settings.PORT))
    most = open_files.most_files() - FILES_BESIDES
    fewer = ("--backpressure", str(max(most, 100))) if most < MOST_CONNECTIONS else ()
    return (*SERVER_OPTIONS, *fewer, *address, "config.supervisor.web:application")


class Child:
    def __init__(self, role: Role, popen: subprocess.Popen[str], started_at: float) -> None:
        self.role = role
        self.popen = popen
        self.pid = popen.pid
        self.started_at = started_at

    @classmethod
    def start(cls, role: Role) -> "Child":
        """Call it from the main thread: the child is killed when the thread that started it
        ends."""
        tie: tuple[str, ...] = ()
        if sys.platform == "linux":
            tie = (sys.executable, "-I", "-S", str(TETHER), str(os.getpid()))
        popen = subprocess.Popen(
            [*tie, *role.command],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        child = cls(role, popen, time.monotonic())
        assert popen.stdout is not None
        threading.Thread(target=_pass_on, args=(role.name, popen.stdout), daemon=True).start()
        return child

    def has_ended(self) -> bool:
        """Does not reap the child, so that its id, which is the group's, stays ours until
        `end_group`."""
        if self.popen.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self.popen.poll() is not None
        looking = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, looking) is not None

    def ask_to_end(self) -> None:
        """Signals only the leader: a SIGTERM to each of its processes would hang django-q2."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    def end_group(self) -> None:
        if self.popen.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self.popen.wait()

    def ending(self) -> str:
        code = self.popen.returncode
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


def _environment() -> dict[str, str]:
    """Children keep our working directory, so that a relative DATA_DIR is the same folder for all.
    They find the code through PYTHONPATH."""
    code = [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, code)),
    }


def say(text: str) -> None:
    """Print a line on stderr. A closed terminal is no reason to stop."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _pass_on(name: str, pipe: IO[str]) -> None:
    with pipe:
        while line := pipe.readline(LONGEST_LINE):
            say(f"{name:<8}| {line.rstrip()}")
