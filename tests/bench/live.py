"""Live pages: from the commit of a change to the event in the client.

The real site's web process serves N open streams over ten jobs; a change of one job reaches a
tenth of them. Beside it, in the same run and on the same server, a bare ASGI stream that only
writes to the same clients. Then one change that reaches all, printed without an aim.

Aim at 1,000 clients: p50 <= 50 ms, p99 <= 250 ms; statements a second and database connections
constant, whatever the number of clients.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from config.supervisor.children import SERVER_OPTIONS
from tests import databases
from tests.bench._size import choose
from tests.bench.inflight import end
from tests.site_process import ROOT, free_port, wait_until

COUNTS = choose((10, 100, 1000), (10,))
JOBS = 10
EVENTS = choose(100, 4)
EVERY = 0.1
BROADCASTS = choose(20, 1)
VENDORS = choose(("sqlite", "postgresql"), ("sqlite",))
POSTGRES = os.environ.get("TEST_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/test")
SERVERS = {
    "granian": ("-m", "granian", *SERVER_OPTIONS, "--host", "127.0.0.1", "--port"),
    "uvicorn": (
        *("-m", "uvicorn", "--workers", "1", "--timeout-graceful-shutdown", "1", "--loop"),
        *("uvloop", "--backlog", "1024", "--ws", "none", "--lifespan", "off"),
        *("--log-level", "warning", "--no-access-log", "--host", "127.0.0.1", "--port"),
    ),
}


def main() -> None:
    for server in os.environ.get("SERVERS", "granian").split(","):
        for vendor in VENDORS:
            measure(server, vendor)


def measure(server: str, vendor: str) -> None:
    print(f"{server}, {vendor}: commit to event in the client, ms")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as house:
        database = a_database(vendor, Path(folder), house)
        environment = database.environment(Path(folder)) | {
            "LIVE_STREAMS_A_PERSON": "100000",
            "CONN_MAX_AGE": "0",
        }
        databases.migrate(database, Path(folder))
        collect_static(environment)
        driver = Driver(environment)
        house.callback(driver.close)
        port = free_port()
        web = start(server, "tests.bench._live_app:application", port, environment)
        house.callback(end, web)
        wait_until(lambda: answers(port))
        idle = memory_of(web)
        for count in COUNTS:
            asyncio.run(look(count, web, port, driver, idle, database))


def collect_static(environment: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "collectstatic", "--no-input", "-v0"]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True)


def a_database(vendor: str, folder: Path, house: ExitStack) -> databases.Database:
    if vendor == "sqlite":
        return databases.Database("sqlite", f"sqlite:///{folder}/live.sqlite3")
    return house.enter_context(databases.postgres_copy(POSTGRES))


def start(server: str, app: str, port: int, environment: dict) -> subprocess.Popen[bytes]:
    command = [sys.executable, *SERVERS[server], str(port), app]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, start_new_session=True)


def answers(port: int) -> bool:
    try:
        return bool(ask(port, "/_bench"))
    except OSError:
        return False


def ask(port: int, path: str) -> dict:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return json.loads(answer.read())


def whole(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    leader = psutil.Process(process.pid)
    return [leader, *leader.children(recursive=True)]


def memory_of(process: subprocess.Popen[bytes]) -> int:
    return sum(part.memory_info().rss for part in whole(process))


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    return sum(sum(part.cpu_times()[:2]) for part in whole(process))


class Driver:
    """A process that changes jobs as the engine does: `tests.bench._live_driver`."""

    def __init__(self, environment: dict) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "tests.bench._live_driver", str(JOBS)],
            cwd=ROOT,
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.child.stdout
        self.visits = json.loads(self.child.stdout.readline())

    def change(self, *jobs: int) -> float:
        """Change these jobs in one transaction; the time of its commit, on the system's clock."""
        assert self.child.stdin
        assert self.child.stdout
        self.child.stdin.write(" ".join(map(str, jobs)) + "\n")
        self.child.stdin.flush()
        return float(self.child.stdout.readline())

    def close(self) -> None:
        assert self.child.stdin
        assert self.child.stdout
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait(10)


@dataclass
class Client:
    """One open page: notes when each of its events was whole."""

    arrivals: list[float] = field(default_factory=list)
    writer: asyncio.StreamWriter | None = None
    task: asyncio.Task | None = None

    async def open(self, port: int, path: str, cookie: str) -> None:
        reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
        self.writer.write(request.encode())
        self.task = asyncio.create_task(self.read(reader))

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Whole with the empty line at its end. Reads as few and as large parts as there are: a
        thousand clients are one process here, and what they take comes on top of each delay."""
        pending = b""
        while part := await reader.read(2**16):
            *events, pending = (pending + part).split(b"\n\n")
            now = time.time()
            self.arrivals += [now for event in events if b"event: state\n" in event]

    async def close(self) -> None:
        assert self.task
        assert self.writer
        self.task.cancel()
        self.writer.close()


async def open_all(count: int, port: int, visits: list[dict]) -> list[Client]:
    clients = [Client() for _ in range(count)]
    for start_at in range(0, count, 50):
        await asyncio.gather(
            *(
                client.open(port, visit["path"], visit["cookie"])
                for client, visit in (
                    (clients[number], visits[number % JOBS])
                    for number in range(start_at, min(start_at + 50, count))
                )
            )
        )
    await until(lambda: all(client.arrivals for client in clients))
    return clients


async def until(condition) -> None:
    ends_at = time.monotonic() + 60
    while not condition():
        if time.monotonic() > ends_at:
            sys.exit("the clients did not get their events in time")
        await asyncio.sleep(0.01)


async def look(count, web, port, driver, idle, database) -> None:
    clients = await open_all(count, port, driver.visits)
    cpu, statements, began = cpu_of(web), ask(port, "/_bench")["statements"], time.monotonic()
    tenth = await events(clients, driver, [[number % JOBS] for number in range(EVENTS)])
    lasted = time.monotonic() - began
    used = (cpu_of(web) - cpu) / lasted
    asked = (ask(port, "/_bench")["statements"] - statements) / lasted
    memory = (memory_of(web) - idle) / count
    connections = open_connections(database)
    everybody = await events(clients, driver, [range(JOBS)] * BROADCASTS)
    bare = await bare_events(clients, port)
    for client in clients:
        await client.close()
    print(
        f"  {count:5} clients  a tenth {shown(tenth)}  bare {shown(bare)}  all {shown(everybody)}"
        f"  {asked:.0f} statements/s  {used:.0%} of a core  {memory / 1024:.0f} KiB a client"
        f"  {connections} connections",
        flush=True,
    )
    await until(lambda: ask(port, "/_bench")["streams"] == 0)


async def events(clients: list[Client], driver: Driver, changes) -> list[float]:
    """The delays of every event in every client it was for."""
    delays = []
    for jobs in changes:
        reached = [c for number, c in enumerate(clients) if number % JOBS in jobs]
        before = [len(client.arrivals) for client in reached]
        committed_at = await asyncio.to_thread(driver.change, *jobs)
        await until(
            lambda reached=reached, before=before: all(
                len(client.arrivals) > seen for client, seen in zip(reached, before, strict=True)
            )
        )
        delays += [client.arrivals[-1] - committed_at for client in reached]
        await asyncio.sleep(EVERY)
    return delays


async def bare_events(clients: list[Client], port: int) -> list[float]:
    """The same number of clients on the same server, with nothing behind the stream."""
    bare = [Client() for _ in clients]
    for start_at in range(0, len(bare), 50):
        part = list(enumerate(bare))[start_at : start_at + 50]
        await asyncio.gather(
            *(client.open(port, f"/_bench/stream/{number % JOBS}", "") for number, client in part)
        )
    await until(lambda: all(client.arrivals for client in bare))
    delays = []
    for number in range(EVENTS):
        reached = [c for place, c in enumerate(bare) if place % JOBS == number % JOBS]
        before = [len(client.arrivals) for client in reached]
        fired_at = (await asyncio.to_thread(ask, port, f"/_bench/fire/{number % JOBS}"))["at"]
        await until(
            lambda reached=reached, before=before: all(
                len(client.arrivals) > seen for client, seen in zip(reached, before, strict=True)
            )
        )
        delays += [client.arrivals[-1] - fired_at for client in reached]
    for client in bare:
        await client.close()
    return delays


def shown(delays: list[float]) -> str:
    cuts = statistics.quantiles(delays, n=100, method="inclusive")
    return f"p50 {cuts[49] * 1000:5.0f} p99 {cuts[98] * 1000:5.0f}"


def open_connections(database: databases.Database) -> str:
    if database.vendor == "sqlite":
        return "-"
    import psycopg

    with psycopg.connect(POSTGRES) as connection:
        name = database.url.rpartition("/")[2]
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [name]
        ).fetchone()
    return str(row[0] if row else 0)
