"""A PostgreSQL and a Redis of the drill's own, on free ports, the disks that everything lies on,
and how each is hurt.
"""

import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import redis

from tests.drill import processes
from tests.drill.disks import Disk
from tests.ports import free_port

START_WITHIN = 120
END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = 'postgres' AND pid <> pg_backend_pid()"
)


class Missing(Exception):
    """What the drill needs is not installed; the text is for the person."""


class Disks:
    """By name; the first holds the others. `data full` is how one of them is hurt."""

    def __init__(self, **folders: Path) -> None:
        self.disks = {name: Disk(folder) for name, folder in folders.items()}

    def mount(self) -> None:
        for disk in self.disks.values():
            disk.mount()

    def hurt(self, what: str) -> Callable[[], None] | None:
        name, _, how = what.partition(" ")
        return self.disks[name].hurt(how)

    def end(self) -> None:
        for disk in reversed(self.disks.values()):
            disk.end()


class Sqlite:
    """The site's own file. `lock` holds the only write lock there is."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "data" / "counterfoil.sqlite3"
        self.settings = {"DATABASE_URL": "", "REDIS_URL": ""}
        self.disks = Disks(data=folder / "data", media=folder / "data" / "media")

    def start(self) -> None:
        self.disks.mount()

    def stop(self) -> None:
        self.disks.end()

    def tend(self) -> None:
        pass

    def hurt(self, what: str, pick: float) -> Callable[[], None] | None:
        """The way back; None when it was not to be had."""
        return self._lock() if what == "lock" else self.disks.hurt(what)

    def _lock(self) -> Callable[[], None] | None:
        line = sqlite3.connect(self.file, timeout=1, isolation_level=None)
        try:
            line.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            line.close()
            return None
        return line.close


class Grown:
    """PostgreSQL and Redis: restarted, a table locked, the database made read-only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scratch = Path(tempfile.mkdtemp(prefix="drill-pg-"))
        self._user = ""
        self._port, self._redis_port = free_port(), free_port()
        self._postgres: subprocess.Popen[bytes] | None = None
        self._redis: subprocess.Popen[bytes] | None = None
        self._away: set[str] = set()
        self._is_read_only = self._may_write = False
        self.disks = Disks(
            data=folder / "data", media=folder / "data" / "media", postgres=self._scratch
        )
        self._log = (folder / "stores.log").open("ab")
        self.url = f"postgres://postgres@127.0.0.1:{self._port}/postgres"
        self.settings = {
            "DATABASE_URL": self.url,
            "REDIS_URL": f"redis://127.0.0.1:{self._redis_port}/0",
        }

    def start(self) -> None:
        initdb = _find("initdb")
        self._binaries = initdb.resolve().parent
        self.disks.mount()
        if os.geteuid() == 0:
            self._user = _unprivileged()
            shutil.chown(self._scratch, self._user)
        making = processes.start(
            [
                *(str(initdb), "--auth=trust", "--username=postgres", "--no-sync"),
                *("--encoding=UTF8", "-D", str(self._scratch / "pg")),
            ],
            os.environ,
            self._log,
            user=self._user,
        )
        if making.wait(120):
            raise Missing("initdb failed; see stores.log")
        self.tend()
        if not processes.wait_until(self._answer, seconds=START_WITHIN):
            raise Missing("PostgreSQL or Redis did not start; see stores.log")

    def tend(self) -> None:
        """Start again what is down and not meant to be."""
        if self._is_read_only and self._may_write:
            self._set_read_only(False)
        if "postgres" not in self._away and _is_down(self._postgres):
            (self._scratch / "pg" / "postmaster.pid").unlink(missing_ok=True)
            self._postgres = processes.start(
                [
                    *(str(self._binaries / "postgres"), "-D", str(self._scratch / "pg")),
                    *("-p", str(self._port), "-c", "listen_addresses=127.0.0.1"),
                    *("-c", "unix_socket_directories=", "-c", "fsync=off"),
                    *("-c", "max_connections=200"),
                ],
                os.environ,
                self._log,
                user=self._user,
            )
        if "redis" not in self._away and _is_down(self._redis):
            self._redis = processes.start(
                [
                    *(str(_find("redis-server")), "--bind", "127.0.0.1", "--save", ""),
                    *("--port", str(self._redis_port), "--dir", str(self._folder)),
                ],
                os.environ,
                self._log,
            )

    def hurt(self, what: str, pick: float) -> Callable[[], None] | None:
        if what == "lock":
            return self._lock_table()
        if what == "read-only":
            return self._make_read_only()
        if what not in ("postgres", "redis"):
            return self.disks.hurt(what)
        child = self._postgres if what == "postgres" else self._redis
        if child is None or what in self._away:
            return None
        self._away.add(what)
        # PostgreSQL: at once, or as after a crash. Redis forgets its queue either way.
        processes.send(child.pid, signal.SIGINT if pick < 0.5 else signal.SIGQUIT)
        if what == "redis":
            processes.send(child.pid, signal.SIGKILL)
        return lambda: self._away.discard(what)

    def _lock_table(self) -> Callable[[], None] | None:
        try:
            line = psycopg.connect(self.url, connect_timeout=2, options="-c lock_timeout=1000")
        except psycopg.Error:
            return None
        try:
            line.execute("LOCK TABLE providers_call IN SHARE MODE")
        except psycopg.Error:
            line.close()
            return None
        return line.close

    def _make_read_only(self) -> Callable[[], None] | None:
        """As after a failover: a session that begins meanwhile stays read-only to its end."""
        if self._is_read_only or not self._set_read_only(True):
            return None
        self._may_write = False
        return lambda: setattr(self, "_may_write", True)

    def _set_read_only(self, wanted: bool) -> bool:
        word = "on" if wanted else "off"
        try:
            with psycopg.connect(
                self.url,
                autocommit=True,
                connect_timeout=2,
                options="-c default_transaction_read_only=off -c lock_timeout=1000",
            ) as line:
                line.execute(f"ALTER DATABASE postgres SET default_transaction_read_only = {word}")
                if wanted:
                    line.execute(END_OTHERS)
        except psycopg.Error:
            return False
        self._is_read_only = wanted
        return True

    def stop(self) -> None:
        for child, number in ((self._redis, signal.SIGTERM), (self._postgres, signal.SIGINT)):
            if child:
                processes.end(child, number, seconds=5)
        self._log.close()
        self.disks.end()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _answer(self) -> bool:
        with suppress(psycopg.Error, redis.RedisError):
            psycopg.connect(self.url, connect_timeout=2).close()
            with redis.Redis(port=self._redis_port, socket_timeout=2) as client:
                return bool(client.ping())
        return False


Stores = Sqlite | Grown


def _is_down(child: subprocess.Popen[bytes] | None) -> bool:
    return child is None or child.poll() is not None


def _find(program: str) -> Path:
    found = shutil.which(program)
    if found:
        return Path(found)
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    if not installed:
        raise Missing(f"{program} is not installed")
    return installed[-1]


def _unprivileged() -> str:
    """PostgreSQL refuses to run as root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), "")
