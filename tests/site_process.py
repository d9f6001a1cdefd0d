"""A whole site as processes, as an operator runs it: `manage.py up`, on ports of its own.

site = Site(tmp_path, POLL_EVERY="0.2").start()
site.kill("ticker")
site.wait_until(lambda: site.pids().get("ticker"))
site.stop()
"""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import psutil

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, seconds: float = 25, every: float = 0.02) -> T:
    """The first true answer; fails when there is none in time."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(every)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site:
    """Settings are given as they stand in the environment, over defaults made for a test."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.settings = {
            "DATA_DIR": str(folder / "data"),
            "PORT": str(free_port()),
            "SANDBOX_PORT": str(free_port()),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": "",
            "REDIS_URL": "",
            "PUBLIC_URL": "",
            "EMAIL_HOST": "",
            "POLZA_API_KEY": "",
            "WORKERS": "3",
            # All its people come from this machine, and look more often than people do.
            "NEW_VISITORS_A_DAY": "100000",
            "RATE_LIMITS": "OFF",
        } | settings
        self.url = f"http://127.0.0.1:{self.settings['PORT']}"
        self.sandbox_url = f"http://127.0.0.1:{self.settings['SANDBOX_PORT']}"
        self.log = folder / "up.log"
        self.up: subprocess.Popen[bytes] | None = None
        default_model = "polza:" if self.settings["POLZA_API_KEY"] else "sandbox:"
        self.has_sandbox = "sandbox:" in self.settings.get("IMAGE_MODELS", default_model)

    @property
    def env(self) -> dict[str, str]:
        return os.environ | self.settings

    def run(self, *arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """One command of the site, such as run("audit", "--json")."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def ask(self, question: str, *values: str) -> list[tuple]:
        """Of the SQLite file, beside the running site."""
        file = Path(self.settings["DATA_DIR"]) / "counterfoil.sqlite3"
        with closing(sqlite3.connect(file, timeout=20)) as database:
            return database.execute(question, values).fetchall()

    def start(self) -> "Site":
        with self.log.open("ab") as log:
            log.seek(0, os.SEEK_END)
            earlier = log.tell()
            self.up = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=ROOT,
                env=self.env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait_until(lambda: "Ctrl-C ends it." in self.logs()[earlier:] or self.has_ended())
        assert not self.has_ended(), self.logs()
        self.wait_until(self.is_whole)
        return self

    def is_whole(self) -> bool:
        """Every role runs, with all workers."""
        workers = len(self.named("q-worker"))
        return workers == int(self.settings["WORKERS"]) and self.pids().keys() >= self.roles()

    def roles(self) -> set[str]:
        return {"web", "cluster", "ticker"} | ({"sandbox"} if self.has_sandbox else set())

    def wait_until(self, condition: Callable[[], T], *, seconds: float = 60) -> T:
        try:
            return wait_until(condition, seconds=seconds)
        except AssertionError as exc:
            raise AssertionError(f"{exc}\n{self.logs()}") from None

    def logs(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def has_ended(self) -> bool:
        return self.up is None or self.up.poll() is not None

    def pids(self) -> dict[str, int]:
        """The leader of each role that runs: web, cluster, ticker, sandbox."""
        try:
            record = json.loads((Path(self.settings["DATA_DIR"]) / "up.json").read_text())
        except FileNotFoundError:
            return {}
        return {name: entry["pid"] for name, entry in record["children"].items()}

    def processes(self) -> list[psutil.Process]:
        """`up` and everything below it."""
        assert self.up is not None
        try:
            leader = psutil.Process(self.up.pid)
            return [leader, *leader.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def named(self, name: str) -> list[psutil.Process]:
        """The cluster's parts: q-cluster, q-sentinel, q-worker, q-monitor, q-pusher."""
        return [process for process in self.processes() if name_of(process) == name]

    def kill(self, role: str, number: int = signal.SIGKILL) -> int:
        """To a role's leader, or to the first of the cluster's parts of that name."""
        # The cluster may just be starting, after what another test did to it.
        parts = self.wait_until(lambda: self.named(role)) if role.startswith("q-") else []
        pid = parts[0].pid if parts else self.pids()[role]
        os.kill(pid, number)
        return pid

    def kill_group(self, role: str) -> None:
        os.killpg(self.pids()[role], signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM, *, seconds: float = 25) -> int:
        """Asks `up` to end and returns its exit code. After `seconds` all of it is killed."""
        if self.up is None:
            return 0
        below = self.processes()
        if not self.has_ended():
            self.up.send_signal(number)
        try:
            return self.up.wait(seconds)
        finally:
            self.up.kill()
            self.up.wait()
            for process in running(below):
                process.kill()


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def running(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that did not end. A zombie has ended: it only waits for whoever adopted it."""
    return [process for process in processes if is_running(process)]


def is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
