"""A server that does on the wire exactly what a test's script says, over TCP or TLS."""

import os
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

PATIENCE = 60
REASONS = {200: "OK", 201: "Created", 204: "No Content", 302: "Found"}


class Line:
    """One accepted connection, from the server's side."""

    def __init__(self, server: "ScriptedServer", sock: socket.socket) -> None:
        self.server, self.sock = server, sock
        self.received = b""
        self.closed = threading.Event()

    def shake(self) -> None:
        """The TLS handshake, where the server speaks TLS."""
        if self.server.tls:
            self.sock = self.server.tls.wrap_socket(self.sock, server_side=True)

    def read_some(self) -> bytes:
        got = self.sock.recv(65536)
        self.received += got
        return got

    def read_head(self) -> str:
        while b"\r\n\r\n" not in self.received and self.read_some():
            pass
        return self.received.partition(b"\r\n\r\n")[0].decode("latin-1")

    def read_request(self) -> None:
        """Head and body; what came is in `received`."""
        size = 0
        for line in self.read_head().splitlines()[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                size = int(value)
        while len(self.received.partition(b"\r\n\r\n")[2]) < size and self.read_some():
            pass

    def send(self, payload: bytes) -> None:
        self.sock.sendall(payload)

    def send_under_tls(self, payload: bytes) -> None:
        """Bytes on the TCP connection itself, past the encryption."""
        os.write(self.sock.fileno(), payload)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send(answer_bytes(status, body, **headers))

    def drip(self, payload: bytes, every: float = 0.05) -> None:
        """A byte at a time, for ever after the last one too: until the peer leaves."""
        for byte in payload:
            if self.server.over.wait(every):
                return
            self.send(bytes([byte]))
        self.hang()

    def wait_for_data(self) -> None:
        """Until something has arrived, which stays unread."""
        select.select([self.sock], [], [], PATIENCE)

    def wait_for(self, moment: float) -> None:
        """Until the clock shows that moment."""
        while time.time() < moment:
            self.server.over.wait(0.01)

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def hang(self) -> None:
        self.server.over.wait(PATIENCE)


Script = Callable[[Line], None]


def answer_bytes(status: int, body: bytes = b"", **headers: str) -> bytes:
    said = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Said')}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in said.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class ScriptedServer:
    """Plays its scripts, one a connection in order; the last one is played again for all after."""

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None, shake: bool = True):
        self.scripts, self.tls, self.shake = scripts, tls, shake
        self.over = threading.Event()
        self.lines: list[Line] = []
        self.threads: list[threading.Thread] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._start(self._accept)

    @property
    def received(self) -> bytes:
        """What came on the first connection."""
        return self.lines[0].received

    def _start(self, work: Callable, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        thread.start()
        self.threads.append(thread)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            script = self.scripts[min(len(self.lines), len(self.scripts) - 1)]
            sock.settimeout(PATIENCE)
            self.lines.append(Line(self, sock))
            self._start(self._play, script, self.lines[-1])

    def _play(self, script: Script, line: Line) -> None:
        try:
            if self.shake:
                line.shake()
            script(line)
        except OSError:
            pass  # the peer left first, which many scripts provoke
        finally:
            line.sock.close()
            line.closed.set()

    def all_received(self, *, connections: int = 0) -> bytes:
        """Everything that came, when that many connections have been taken and all have ended."""
        until = time.monotonic() + PATIENCE
        while len(self.lines) < connections and time.monotonic() < until:
            time.sleep(0.005)
        for line in self.lines:
            line.closed.wait(PATIENCE)
        assert len(self.lines) >= connections
        return b"".join(line.received for line in self.lines)

    def stop(self) -> None:
        self.over.set()
        # A closed listener does not wake its accept() on Linux; a shut one does.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for line in self.lines:
            with suppress(OSError):
                line.sock.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(PATIENCE)
