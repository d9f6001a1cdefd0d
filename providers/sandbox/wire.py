"""The sandbox's side of the wire: plain answers in one write, and every way to lose an answer.

A connection is a thread; keep-alive, Nagle off. Over TLS the handshake happens in that thread,
so a slow client does not hold up the others.
"""

import logging
import socket
import ssl
import struct
import sys
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Event

log = logging.getLogger(__name__)

HOLD_AT_MOST = 600
DRIP_PAUSE = 1.0
LINGER_ZERO = struct.pack("ii", 1, 0)
ODD_REASONS = {524: "A Timeout Occurred"}


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024
    # Address only: with the port shared, a second sandbox would start and take half the requests.
    allow_reuse_address = True
    allow_reuse_port = False

    def __init__(self, address: tuple[str, int], handler: type, tls: ssl.SSLContext | None) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self.tls = tls
        self.stopping = Event()
        self._open: set[socket.socket] = set()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # HTTPServer's own would ask the name service for our name.
        TCPServer.server_bind(self)

    def get_request(self) -> tuple[socket.socket, object]:
        connection, peer = super().get_request()
        if self.tls:
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        self._open.add(connection)
        return connection, peer

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        # The orderly end would say FIN first, and a reset would look like a polite goodbye.
        if request.fileno() != -1 and _resets_on_close(request):
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def close_request(self, request: socket.socket) -> None:  # type: ignore[override]
        self._open.discard(request)
        super().close_request(request)

    def hang_up(self) -> None:
        """End every connection, so that a client's keep-alive does not outlive the server."""
        for connection in list(self._open):
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        if isinstance(sys.exception(), OSError):
            log.debug("connection lost", exc_info=True)
        else:
            log.exception("request failed")


def _resets_on_close(connection: socket.socket) -> bool:
    linger = connection.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, len(LINGER_ZERO))
    return linger == LINGER_ZERO


class Line(BaseHTTPRequestHandler):
    """One client's connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 300
    server: Listener

    def setup(self) -> None:
        super().setup()
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.do_handshake()

    def log_message(self, format: str, *args: object) -> None:
        log.debug(format, *args)

    def reply(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.wfile.write(whole(status, body, content_type, headers))

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
        self.close_connection = True

    def hang(self) -> None:
        """Say nothing until the client goes, for ten minutes at most."""
        self.close_connection = True
        self.connection.settimeout(0.2)
        give_up_at = time.monotonic() + HOLD_AT_MOST
        while time.monotonic() < give_up_at and not self.server.stopping.is_set():
            try:
                if not self.connection.recv(1024):
                    return
            except TimeoutError:
                continue

    def cut(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        """Promise the whole body, send half of it, hang up."""
        self.close_connection = True
        answer = whole(status, body, content_type, headers)
        self.wfile.write(answer[: len(answer) - (len(body) + 1) // 2])

    def cut_chunked(self, status: int, body: bytes) -> None:
        self.close_connection = True
        half = body[: len(body) // 2]
        chunk = f"{len(half):x}\r\n".encode() + half + b"\r\n"
        chunked = {"Transfer-Encoding": "chunked"}
        self.wfile.write(head(status, "application/json", chunked) + chunk)

    def drip(self, status: int, body: bytes) -> None:
        """The whole answer, head and all, a byte a second."""
        self.close_connection = True
        for byte in whole(status, body):
            self.wfile.write(bytes([byte]))
            if self.server.stopping.wait(DRIP_PAUSE):
                return

    def pour(self, start: bytes, content_type: str) -> None:
        """A body without an end, as long as the client takes it, for ten minutes at most."""
        self.close_connection = True
        self.wfile.write(head(200, content_type, {"Connection": "close"}) + start)
        give_up_at = time.monotonic() + HOLD_AT_MOST
        while time.monotonic() < give_up_at and not self.server.stopping.is_set():
            self.wfile.write(bytes(65536))


def whole(
    status: int,
    body: bytes,
    content_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> bytes:
    length = {"Content-Length": str(len(body))}
    return head(status, content_type, {**length, **(headers or {})}) + body


def head(status: int, content_type: str, headers: dict[str, str]) -> bytes:
    reason = ODD_REASONS.get(status) or HTTPStatus(status).phrase
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
