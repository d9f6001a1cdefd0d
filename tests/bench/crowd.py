"""A hostile crowd next to people: 1,000 live pages and 8,400 unfinished bodies at once.

The web process alone, as `up` starts it, on each database. A few people look at pages one after
the other, all the time: first alone, then beside the live pages, then while 8,400 connections are
opened that send `POST /hooks/x/y/` with `Content-Length: 500` and one byte, and half a minute after
the site has closed one it comes again. Meanwhile jobs change, and each live page must hear of it.

Aim: no page goes unanswered, p99 under 5 s, every live page stays open.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from config.supervisor import open_files
from tests import databases
from tests.bench._size import choose
from tests.bench.live import Client, Driver, a_database, until
from tests.site_process import ROOT
from tests.web_process import Web, web_process

LIVE = choose(1_000, 10)
UNFINISHED = choose(8_400, 20)
PEOPLE = 4
PAUSE = 0.05
LOOKS_FOR = float(os.environ.get("SECONDS") or choose("30", "1"))
UNANSWERED = 30.0
# Seconds after which a connection that the site closed comes again.
AGAIN = 30


def main() -> None:
    open_files.raise_limit()
    for vendor in (os.environ.get("VENDORS") or choose("sqlite,postgresql", "sqlite")).split(","):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as house:
            database = a_database(vendor, Path(folder), house)
            databases.migrate(database, Path(folder))
            settings = {"LIVE_STREAMS_A_PERSON": "100000"}
            web = house.enter_context(web_process(database, Path(folder), **settings))
            driver = Driver(web.environment)
            house.callback(driver.close)
            print(f"{vendor}, load {os.getloadavg()[0]:.1f}", flush=True)
            asyncio.run(measure(web, driver, live=LIVE, unfinished=UNFINISHED, seconds=LOOKS_FOR))


async def measure(
    web: Web, driver: Driver, *, live: int, unfinished: int, seconds: float
) -> "Looks":
    """The looks beside the whole crowd."""
    paths = pages_of(driver.visits)
    alone = await look_for(web, paths, seconds / 3)
    print(f"  alone                         {alone}", flush=True)
    clients = await open_live(live, web.port, driver.visits)
    beside = await look_for(web, paths, seconds / 3)
    print(f"  {live} live pages               {beside}", flush=True)
    heard, changes = [len(client.arrivals) for client in clients], asyncio.Event()
    changing = asyncio.create_task(change_jobs(driver, changes))
    worker, crowd = web.worker(), Crowd(web.port, unfinished)
    cpu = sum(worker.cpu_times()[:2])
    looks = await look_for(web, paths, seconds)
    cpu = sum(worker.cpu_times()[:2]) - cpu
    opened, most, closed = await asyncio.to_thread(crowd.leave)
    changes.set()
    changed = await changing
    still = sum(1 for client in clients if client.task and not client.task.done())
    deaf = sum(1 for seen, c in zip(heard, clients, strict=True) if len(c.arrivals) == seen)
    print(f"  and {unfinished} unfinished bodies    {looks}")
    print(f"    bodies: {opened} opened, {most} open at once, {closed} closed by the site")
    print(f"    live pages: {still} of {live} open, {deaf} heard nothing of {changed} changes")
    memory = worker.memory_info().rss / 2**20
    load = os.getloadavg()[0]
    print(f"    web process: {cpu:.0f} s of CPU, {memory:.0f} MB; load {load:.0f}", flush=True)
    for client in clients:
        await client.close()
    return looks


def pages_of(visits: list[dict]) -> list[tuple[str, str]]:
    """Addresses, each with the cookie of its viewer."""
    cookie, job = visits[0]["cookie"], visits[0]["path"].removesuffix("/stream")
    return [("/healthz", ""), ("/", ""), ("/gallery", cookie), (job, cookie)]


@dataclass
class Looks:
    took: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def unanswered(self) -> int:
        return self.statuses.total() - self.statuses[200]

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.took, n=100, method="inclusive")[98]

    def __str__(self) -> str:
        others = dict(self.statuses - Counter({200: self.statuses[200]}))
        return (
            f"{len(self.took):5} pages, {self.unanswered} unanswered {others or ''},"
            f" p50 {statistics.median(self.took):.3f} p99 {self.p99:.3f} max {max(self.took):.3f} s"
        )


async def look_for(web: Web, paths: list[tuple[str, str]], seconds: float) -> Looks:
    looks, ends_at = Looks(), time.monotonic() + seconds

    async def person(number: int) -> None:
        while time.monotonic() < ends_at:
            for path, cookie in paths[number:] + paths[:number]:
                began = time.monotonic()
                looks.statuses[await status_of(web.port, path, cookie)] += 1
                looks.took.append(time.monotonic() - began)
                await asyncio.sleep(PAUSE)

    await asyncio.gather(*(person(number % len(paths)) for number in range(PEOPLE)))
    return looks


async def status_of(port: int, path: str, cookie: str) -> int:
    """0 where no whole answer came in time. Connecting counts."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n"
    try:
        async with asyncio.timeout(UNANSWERED):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"{request}Connection: close\r\n\r\n".encode())
            answer = await reader.read(-1)
            writer.close()
            return int(answer.split(b" ", 2)[1])
    except (OSError, TimeoutError, IndexError):
        return 0


async def open_live(count: int, port: int, visits: list[dict]) -> list[Client]:
    clients = [Client() for _ in range(count)]
    for start_at in range(0, count, 50):
        part = list(enumerate(clients))[start_at : start_at + 50]
        visited = [(client, visits[number % len(visits)]) for number, client in part]
        await asyncio.gather(*(c.open(port, v["path"], v["cookie"]) for c, v in visited))
    await until(lambda: all(client.arrivals for client in clients))
    return clients


async def change_jobs(driver: Driver, over: asyncio.Event) -> int:
    """All jobs, every two seconds and once more at the end; how often."""
    changed = 0
    while not over.is_set():
        await asyncio.to_thread(driver.change, *range(len(driver.visits)))
        changed += 1
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 2)
    return changed


class Crowd:
    """A process of its own: `tests.bench._crowd_bodies`."""

    def __init__(self, port: int, size: int) -> None:
        arguments = (str(port), str(size), str(AGAIN))
        self.child = subprocess.Popen(
            [sys.executable, "-m", "tests.bench._crowd_bodies", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def leave(self) -> list[str]:
        """Opened, most open at once, closed by the site."""
        try:
            return self.child.communicate("", timeout=60)[0].split()
        finally:
            self.child.kill()


if __name__ == "__main__":
    main()
