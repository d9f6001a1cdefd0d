"""A whole site as processes, as an operator runs it: `manage.py up`, on ports of its own.

site = Site(tmp_path, POLL_EVERY="0.2").start()
site.kill("ticker")
site.wait_until(lambda: site.pids().get("ticker"))
site.stop()
"""

import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import psutil

from config import constants
from tests import prepared
from tests.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, seconds: float = 60, every: float = 0.02) -> T:
    """The first true answer; fails when there is none in time."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(every)


def find_settings_module(settings: Mapping[str, str]) -> str:
    """The product's settings, unless one of its constants is replaced."""
    names = {name for name in vars(constants) if name.isupper()}
    return "tests.scaled" if names & settings.keys() else "config.settings"


class Site:
    """Settings are given as they stand in the environment, over defaults made for a test.

    The first start begins from a copy of a prepared data folder; with `is_prepared=False` it
    migrates an empty database, as an operator's first start does.
    """

    def __init__(self, folder: Path, *, is_prepared: bool = True, **settings: str) -> None:
        self.folder = folder
        self._is_prepared = is_prepared
        self.settings = {
            "DATA_DIR": str(folder / "data"),
            "PORT": str(free_port()),
            "SANDBOX_PORT": str(free_port()),
            # It names the queue: of two sites with one key each would take the other's work.
            "SECRET_KEY": secrets.token_hex(32),
            "DJANGO_SETTINGS_MODULE": find_settings_module(settings),
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

    def run(self, *arguments: str, seconds: float = 180) -> subprocess.CompletedProcess[str]:
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
        if self._is_prepared:
            self.prepare()
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
        try:
            self.wait_until(
                lambda: "Press Ctrl-C to stop." in self.logs()[earlier:] or self.has_ended()
            )
            assert not self.has_ended(), self.logs()
            self.wait_until(self.is_whole)
        except BaseException:
            self.stop()
            raise
        return self

    def prepare(self) -> None:
        """Nothing happens where a data folder is already."""
        data_dir = Path(self.settings["DATA_DIR"])
        if not data_dir.exists():
            prepared.copy_data_folder(data_dir, with_database=not self.settings["DATABASE_URL"])

    def is_whole(self) -> bool:
        """Every role runs, with all workers."""
        workers = len(self.named("q-worker"))
        return workers == int(self.settings["WORKERS"]) and self.pids().keys() >= self.roles()

    def roles(self) -> set[str]:
        return {"web", "cluster", "ticker"} | ({"sandbox"} if self.has_sandbox else set())

    def wait_until(self, condition: Callable[[], T], *, seconds: float = 120) -> T:
        # Most conditions question processes of the site: more often, they would slow it down.
        try:
            return wait_until(condition, seconds=seconds, every=0.1)
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
        # It may just be starting, after what another test did to it.
        if role.startswith("q-"):
            pid = self.wait_until(lambda: self.named(role))[0].pid
        else:
            pid = self.wait_until(lambda: self.pids().get(role))
        os.kill(pid, number)
        return pid

    def kill_group(self, role: str) -> None:
        os.killpg(self.wait_until(lambda: self.pids().get(role)), signal.SIGKILL)

    def suspend(self, *roles: str) -> list[psutil.Process]:
        """These roles, or parts of the cluster, stand still; none holds SQLite's write lock."""
        return self.wait_until(lambda: self._suspended(roles))

    def _suspended(self, roles: tuple[str, ...]) -> list[psutil.Process]:
        found = self._below(roles)
        with suppress(psutil.NoSuchProcess):
            for process in found:
                process.suspend()
            wait_until(lambda: all(p.status() == psutil.STATUS_STOPPED for p in found))
            if found and self._below(roles) == found and self._takes_writes():
                return found
        resume(found)
        return []

    def _below(self, roles: tuple[str, ...]) -> list[psutil.Process]:
        """Nobody, unless all of them run."""
        parts = [self._part(role) for role in roles]
        return [process for part in parts for process in part] if all(parts) else []

    def _part(self, role: str) -> list[psutil.Process]:
        if role.startswith("q-"):
            return self.named(role)
        leader = self.pids().get(role)
        return [process for process in self.processes() if group_of(process) == leader]

    def _takes_writes(self) -> bool:
        if self.settings["DATABASE_URL"]:
            return True
        file = Path(self.settings["DATA_DIR"]) / "counterfoil.sqlite3"
        with closing(sqlite3.connect(file, timeout=0.5, isolation_level=None)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            database.execute("ROLLBACK")
        return True

    def stop(self, number: int = signal.SIGTERM, *, seconds: float = 60) -> int:
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
                with suppress(psutil.NoSuchProcess):
                    process.kill()


def resume(processes: list[psutil.Process]) -> None:
    """Those that are still there."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def group_of(process: psutil.Process) -> int:
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return 0


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
