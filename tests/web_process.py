"""The web process alone, as `up` starts it, on a database of the test and a port of its own.

with web_process(database, tmp_path) as web:
    web.get("/healthz")
"""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

import psutil

from config.supervisor.children import SERVER_OPTIONS
from tests import databases, prepared
from tests.site_process import ROOT, free_port, wait_until

CRLF = "\r\n"


@dataclass
class Web:
    port: int
    folder: Path
    process: subprocess.Popen[bytes]
    environment: dict[str, str]
    sockets: list[socket.socket] = field(default_factory=list)

    def get(self, path: str, *, seconds: float = 20, **headers: str) -> tuple[int, float]:
        """The status, and how long the whole answer took; 0 where none came in time."""
        began = time.monotonic()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status, time.monotonic() - began
        except OSError:
            return 0, time.monotonic() - began
        finally:
            connection.close()

    def open(self, *lines: str, body: bytes = b"", receive_buffer: int = 0) -> socket.socket:
        """Send this much of a request, and nothing more. Closed with the process."""
        opened = socket.socket()
        if receive_buffer:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1448)
        opened.settimeout(20)
        opened.connect(("127.0.0.1", self.port))
        self.sockets.append(opened)
        head = CRLF.join(lines)
        opened.sendall(head.encode("latin-1") + body)
        return opened

    def post(self, path: str, *, length: int, body: bytes = b"x", **more: str) -> socket.socket:
        """A request that announces `length` bytes and sends `body`."""
        headers = [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}"]
        return self.open(*lines, *headers, "", "", body=body)

    def logs(self) -> str:
        return (self.folder / "web.log").read_text(errors="replace")

    def processes(self) -> list[psutil.Process]:
        leader = psutil.Process(self.process.pid)
        return [leader, *leader.children(recursive=True)]

    def connections(self) -> int:
        """Those the server holds."""
        held = self.worker().net_connections("tcp")
        return sum(
            1
            for one in held
            if one.status == psutil.CONN_ESTABLISHED and one.laddr.port == self.port
        )

    def holds(self, client: socket.socket) -> bool:
        """The connection of this client is open on the server's side."""
        port = client.getsockname()[1]
        held = self.worker().net_connections("tcp")
        return any(one.raddr and one.raddr.port == port for one in held)

    def worker(self) -> psutil.Process:
        """The process that answers: of all below the server the one with the most memory."""
        return max(self.processes()[1:], key=lambda one: one.memory_info().rss)


@contextmanager
def web_process(
    database: databases.Database,
    folder: Path,
    *options: str,
    application: str = "config.supervisor.web",
    **settings: str,
) -> Iterator[Web]:
    port = free_port()
    environment = database.environment(folder / "data") | {"RATE_LIMITS": "OFF"} | settings
    (folder / "data").mkdir(mode=0o700, exist_ok=True)
    prepared.copy_static(folder / "data")
    address = ("--host", "127.0.0.1", "--port", str(port), f"{application}:application")
    command = [*SERVER_OPTIONS, *options, *address]
    with (folder / "web.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "granian", *command],
            cwd=ROOT,
            env=environment | {"PYTHONUNBUFFERED": "1"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    web = Web(port, folder, process, environment)
    try:
        wait_until(lambda: process.poll() is not None or web.get("/healthz", seconds=2)[0] == 200)
        assert process.poll() is None, web.logs()
        yield web
    finally:
        for each in web.sockets:
            each.close()
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    below: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        below = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    for each in below:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.kill()
    process.wait()


def answer_of(opened: socket.socket, *, seconds: float = 20) -> bytes:
    """What came until the server hung up or was silent for so long."""
    opened.settimeout(seconds)
    came = b""
    with suppress(OSError):
        while part := opened.recv(65536):
            came += part
    return came


def is_closed(opened: socket.socket) -> bool:
    """The server hung up; what it sent before is dropped."""
    opened.setblocking(False)
    try:
        while opened.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
