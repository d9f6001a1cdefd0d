"""Connections that note what is really known of an exchange, below `providers.wire.http`.

Whether a request may have reached the provider is noted at the moment connect() returned (TCP,
proxy CONNECT, TLS handshake). The reading side keeps the total deadline and the bytes that came.
"""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.client import HTTPException, HTTPResponse, parse_headers
from typing import Any

import requests
from django.conf import settings
from django.utils import timezone
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

MAX_INTERIM_ANSWERS = 100
SWITCHING_PROTOCOLS = 101
CLOCK_IS_RIGHT_WITHIN = timedelta(seconds=30)


class DeadlinePassed(OSError):
    pass


class TooLateToSend(OSError):
    pass


class AddressRefused(OSError):
    pass


class BodyTooLarge(OSError):
    pass


@dataclass
class Wire:
    """The facts of one exchange, noted by the connection itself."""

    deadline: float = 0.0
    send_by: datetime | None = None
    check_peer: Callable[[str], None] | None = None
    connected: bool = field(default=False)
    received: bytearray | None = None
    """The bytes of the answer that is being read; None if they are not needed."""
    most_received: int = 0

    def note_received(self, data: memoryview) -> None:
        if self.received is not None:
            self.received += data
            if len(self.received) > self.most_received:
                raise BodyTooLarge(f"more than {self.most_received} bytes")

    def remaining(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlinePassed("total deadline passed")
        return left

    def note_connected(self) -> None:
        """Last before the first byte is written: a sender that missed its window does not send."""
        self.remaining()
        if self.send_by and not _is_in_time(self.send_by):
            raise TooLateToSend("the time to send had passed")
        self.connected = True


def _is_in_time(send_by: datetime) -> bool:
    """False also if it is further ahead than it is ever written: the clock was set back since, and
    how late it is cannot be known."""
    now = timezone.now()
    return now < send_by <= now + max(settings.SEND_WITHIN, CLOCK_IS_RIGHT_WITHIN)


class _DeadlineReader(io.RawIOBase):
    """Reads a socket so that no number of slow bytes outlives the total deadline."""

    def __init__(self, sock: Any, wire: Wire) -> None:
        self._sock, self._wire = sock, wire
        self._raw = sock.makefile("rb", buffering=0)
        self._read_timeout = sock.gettimeout()
        if wire.received is not None:
            wire.received = bytearray()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        remaining = self._wire.remaining()
        self._sock.settimeout(min(remaining, self._read_timeout or remaining))
        count = self._raw.readinto(buffer)
        self._wire.note_received(memoryview(buffer)[: count or 0])
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _DeadlineSocket:
    """The connected socket, whose reading side keeps the total deadline. Writing needs no help:
    the socket's timeout holds for a whole sendall(), over TLS too."""

    def __init__(self, sock: Any, wire: Wire) -> None:
        self._sock, self._wire = sock, wire

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def makefile(self, mode: str, *args: Any, **kwargs: Any) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self._sock, self._wire))


class _FinalResponse(HTTPResponse):
    """Reads past interim answers, of which http.client knows only 100. A change of protocols is
    final: what follows it is no HTTP, and no request of ours allows it."""

    fp: Any

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(MAX_INTERIM_ANSWERS + 1):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not 100 <= status < 200 or status == SWITCHING_PROTOCOLS:
                return version, status, reason
            parse_headers(self.fp)
        raise HTTPException("too many interim answers")


class _Noting:
    """Mixed into urllib3's connections; `wire` is set on the subclass of one adapter."""

    wire: Wire
    sock: Any
    response_class = _FinalResponse

    def _new_conn(self) -> Any:
        sock = super()._new_conn()  # type: ignore[misc]
        if self.wire.check_peer:
            try:
                self.wire.check_peer(sock.getpeername()[0])
            except AddressRefused:
                sock.close()
                raise
        return sock

    @property
    def is_connected(self) -> bool:
        """False also where TLS holds a decrypted byte back, which select() does not show."""
        count_pending = getattr(self.sock, "pending", None)
        return super().is_connected and not (count_pending and count_pending())  # type: ignore[misc]

    def _tunnel(self) -> None:
        """The answer to CONNECT, too, is read within the total deadline."""
        raw, self.sock = self.sock, _DeadlineSocket(self.sock, self.wire)
        super()._tunnel()  # type: ignore[misc]
        self.sock = raw

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self.wire.note_connected()
        self.sock = _DeadlineSocket(self.sock, self.wire)


class NotingAdapter(HTTPAdapter):
    """requests' own adapter without retries, its connections noting to one `Wire`."""

    def __init__(self, wire: Wire) -> None:
        http = type("NotingHTTP", (_Noting, HTTPConnection), {"wire": wire})
        https = type("NotingHTTPS", (_Noting, HTTPSConnection), {"wire": wire})
        self._pools = {
            "http": type("Pool", (HTTPConnectionPool,), {"ConnectionCls": http}),
            "https": type("TLSPool", (HTTPSConnectionPool,), {"ConnectionCls": https}),
        }
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        if proxy.lower().startswith("socks"):
            # It works by connection classes of its own; ours would go straight past the proxy.
            raise requests.exceptions.InvalidSchema("SOCKS proxies are not supported")
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = self._pools
        return manager


class Session(requests.Session):
    """Sees no redirect: even if it must not follow one, requests reads its body without a limit."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None
