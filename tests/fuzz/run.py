"""Sends spoiled requests to a web process by raw sockets, and counts what came of them."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.databases import ROOT, Database
from tests.fuzz.addresses import Address, all_addresses
from tests.fuzz.requests import plain, spoil
from tests.web_process import Web, web_process

SENDERS = 6
ANSWER_WITHIN = 30
TRACE = re.compile(r'^\S.*\n\s+File "', re.M)


@dataclass
class Result:
    sent: int = 0
    addresses: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    unanswered: int = 0
    """Connections that were closed without a byte, or silent for too long."""
    expected: int = 0
    """Of /readyz, since no ticker runs here."""
    tracebacks: int = 0
    staff_status: int = 0
    """Of the admin at the end: a fuzz that signed itself out has tried nothing there."""
    faults: list[bytes] = field(default_factory=list)
    """Requests that were answered with 500 or 503, or not at all."""
    log: str = ""

    def lines(self) -> list[str]:
        found = ", ".join(f"{status}: {many}" for status, many in sorted(self.statuses.items()))
        return [
            f"requests tried: {self.sent}, of {self.addresses} addresses",
            f"answers: {found}",
            f"status 500: {self.statuses[500]}",
            f"status 503: {self.unavailable}",
            f"closed without an answer: {self.unanswered}",
            f"tracebacks in the log: {self.tracebacks}",
            f"the staff's last page: {self.staff_status}",
        ]

    @property
    def unavailable(self) -> int:
        return self.statuses[503] - self.expected

    @property
    def is_clean(self) -> bool:
        found = self.statuses[500] + self.unavailable + self.unanswered + self.tracebacks
        return not found and self.staff_status == 200


def run(database: Database, folder: Path, *, seconds: float, seed: int) -> Result:
    with web_process(database, folder) as web:
        site = furnish(web)
        fuzz = Fuzz(web, site, Random(seed))
        fuzz.run(time.monotonic() + seconds)
        result = fuzz.result
        result.staff_status = fuzz.staff_status()
        result.log = web.logs()
        result.tracebacks = len(TRACE.findall(result.log))
        return result


class Fuzz:
    def __init__(self, web: Web, site: dict, dice: Random) -> None:
        self.web, self.site, self.dice = web, site, dice
        self.addresses = all_addresses()
        self.result = Result(addresses=len(self.addresses))
        self._lock = threading.Lock()
        self._turns: list = []

    def run(self, until: float) -> None:
        """At least once around all addresses, each as somebody."""
        with ThreadPoolExecutor(SENDERS) as pool:
            for each in [pool.submit(self._send_until, until) for _ in range(SENDERS)]:
                each.result()

    def staff_status(self) -> int:
        return self.web.get("/admin/", Cookie=self.site["cookies"]["staff"][-1])[0]

    def _send_until(self, until: float) -> None:
        while time.monotonic() < until or self.result.sent < len(self.addresses):
            sent = self._next()
            status, _ = send(self.web.port, sent)
            with self._lock:
                self.result.sent += 1
                self.result.statuses[status] += bool(status)
                self.result.expected += _is_expected(sent, status)
                self.result.unanswered += not status
                if status in (0, 500, 503) and not _is_expected(sent, status):
                    self.result.faults.append(sent)

    def _next(self) -> bytes:
        with self._lock:
            if not self._turns:
                self._turns = self.dice.sample(self.addresses, len(self.addresses))
            address, dice = self._turns.pop(), self.dice
            request = plain(address, self.site["values"], self._cookie(address), dice)
            spoil(request, dice)
            return request.bytes(f"127.0.0.1:{self.web.port}".encode())

    def _cookie(self, address: Address) -> str:
        """Nobody else is let into the admin. Whoever signs out has a session to lose, and the last
        one is for the look at the end."""
        people = self.site["cookies"]
        is_admin = address.parts[0].startswith("/admin/") and self.dice.random() < 0.7
        cookies = people["staff" if is_admin else self.dice.choice(list(people))]
        is_leaving = address.name in ("logout", "sign_out")
        stays = cookies[len(cookies) // 2 : -1] or cookies
        return self.dice.choice((cookies[: len(cookies) // 2] if is_leaving else stays) or stays)


def send(port: int, request: bytes) -> tuple[int, str]:
    """The status and the head of the answer; 0 where none came."""
    begun = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.settimeout(ANSWER_WITHIN)
        # The server may refuse a long request before it has read all of it.
        with suppress(OSError):
            line.sendall(request)
        while b"\r\n\r\n" not in begun and (part := line.recv(4096)):
            begun += part
    found = re.match(rb"HTTP/1.\d (\d{3})", begun)
    return int(found[1]) if found else 0, begun.partition(b"\r\n\r\n")[0].decode("latin-1")


def _is_expected(request: bytes, status: int) -> bool:
    return status == 503 and b" /readyz" in request[:20]


def furnish(web: Web) -> dict:
    told = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.people"],
        cwd=ROOT,
        env=web.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(told.stdout)
