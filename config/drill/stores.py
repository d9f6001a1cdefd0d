"""A PostgreSQL and a Redis of the drill's own, on free ports, and how each is hurt."""

import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import redis

from config.drill import processes

START_WITHIN = 120


class Missing(Exception):
    """What the drill needs is not installed; the text is for the person."""


def free_port() -> int:
    """Nobody else is given it while this process lives: it stays bound, and a server that sets
    SO_REUSEADDR, as ours do, may listen on it all the same."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        kept.detach()
    return port


class Sqlite:
    """The site's own file. `lock` holds the only write lock there is."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "data" / "counterfoil.sqlite3"
        self.settings = {"DATABASE_URL": "", "REDIS_URL": ""}

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def tend(self) -> None:
        pass

    def hurt(self, what: str, pick: float) -> Callable[[], None] | None:
        """The way back; None when the lock was not to be had."""
        line = sqlite3.connect(self.file, timeout=1, isolation_level=None)
        try:
            line.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            line.close()
            return None
        return line.close


class Grown:
    """PostgreSQL and Redis: restarted, or a table locked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scratch = Path(tempfile.mkdtemp(prefix="drill-pg-"))
        self._user = ""
        self._port, self._redis_port = free_port(), free_port()
        self._postgres: subprocess.Popen[bytes] | None = None
        self._redis: subprocess.Popen[bytes] | None = None
        self._away: set[str] = set()
        self._log = (folder / "stores.log").open("ab")
        self.url = f"postgres://postgres@127.0.0.1:{self._port}/postgres"
        self.settings = {
            "DATABASE_URL": self.url,
            "REDIS_URL": f"redis://127.0.0.1:{self._redis_port}/0",
        }

    def start(self) -> None:
        initdb = _find("initdb")
        self._binaries = initdb.resolve().parent
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

    def stop(self) -> None:
        for child, number in ((self._redis, signal.SIGTERM), (self._postgres, signal.SIGINT)):
            if child:
                processes.end(child, number, seconds=5)
        self._log.close()
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
