"""One request over HTTP, with what is really known of it.

Whether a request may have reached the provider is noted by our own connection class at the moment
connect() returned (TCP, proxy CONNECT, TLS handshake): the exception type proves nothing. Every
exchange has a total deadline besides the per-read one, follows no redirect and retries nothing.

A connection serves again only after `keep_connection`, which wants an ordinary answer that was
believed (docs/adr/0011-answers-and-their-questions.md).
"""

import io
import json as jsonlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http.client import HTTPException, HTTPResponse, parse_headers
from typing import Any

import requests
from django.conf import settings
from django.utils import timezone
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.structures import CaseInsensitiveDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from providers import framing

WIRE_ERRORS = (requests.RequestException, HTTPError, HTTPException, OSError, ValueError)
MAX_ANSWER_BYTES = 64 * 2**20
# Heads, chunk sizes and trailers come on top.
MAX_FRAMING_BYTES = 2**20
MAX_INTERIM_ANSWERS = 100
SWITCHING_PROTOCOLS = 101


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes
    is_exact: bool = True
    """False where the framing was wrong, so that something may be missing."""

    def json(self) -> Any:
        """The body as JSON, or None when it is none, also where an object names two ids."""
        try:
            return jsonlib.loads(self.body, object_pairs_hook=_read_object)
        except (ValueError, RecursionError):
            return None


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) and [name for name, _ in pairs].count("id") > 1:
        raise ValueError("two ids")
    return found


@dataclass(frozen=True)
class NotSent:
    """connect() never returned, or `send_by` had passed: not a byte of the request left."""

    text: str
    overslept: bool = False


@dataclass(frozen=True)
class NoReply:
    """Lost after connect(): it may have arrived, run and been billed."""

    text: str


Reply = Answer | NotSent | NoReply


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
    """The bytes of the answer that is being read; None where nobody will look at them."""

    def note_received(self, data: memoryview) -> None:
        if self.received is not None:
            self.received += data
            if len(self.received) > MAX_ANSWER_BYTES + MAX_FRAMING_BYTES:
                raise BodyTooLarge(f"more than {MAX_ANSWER_BYTES} bytes")

    def remaining(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlinePassed("total deadline passed")
        return left

    def note_connected(self) -> None:
        """Last before the first byte is written: a sender that overslept does not send."""
        self.remaining()
        if self.send_by and timezone.now() >= self.send_by:
            raise TooLateToSend("the time to send had passed")
        self.connected = True


class BearerAuth(AuthBase):
    """An auth object, since a `.netrc` entry would replace a plain header."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if not (self.key.isascii() and self.key.isprintable()):
            # Found out later it would be raised after connect(), and look like a lost request.
            raise requests.exceptions.InvalidHeader("the key has characters no header can carry")
        request.headers["Authorization"] = f"Bearer {self.key}"
        return request


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
    """Reads past interim answers, of which http.client knows 100 alone. A change of protocols is
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


class _NotingAdapter(HTTPAdapter):
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


class _Session(requests.Session):
    """Sees no redirect: even when told not to follow, requests would read its body without end."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class Client:
    """One thread's connections to providers. A submit takes a fresh one: a kept connection that
    the peer is just closing would turn a request never seen into an unknown."""

    def __init__(self, *, trust_env: bool = True) -> None:
        self.wire = Wire()
        self._is_kept = False
        self.session = _Session()
        self.session.trust_env = trust_env
        adapter = _NotingAdapter(self.wire)
        self.session.mount("http://", adapter)
        self.session.mount("https://", adapter)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc: object) -> None:
        self.session.close()

    def open(
        self,
        method: str,
        url: str,
        *,
        total: float,
        send_by: datetime | None = None,
        check_peer: Callable[[str], None] | None = None,
        **request: Any,
    ) -> requests.Response:
        """Headers read, body not yet. Raises whatever the wire raised."""
        if not self._is_kept:
            self.session.close()
        self._is_kept = self.wire.connected = False
        self.wire.deadline = time.monotonic() + total
        self.wire.send_by, self.wire.check_peer = send_by, check_peer
        return self.session.request(
            method,
            url,
            timeout=(min(settings.CONNECT_TIMEOUT, total), min(settings.READ_TIMEOUT, total)),
            allow_redirects=False,
            stream=True,
            verify=settings.PROVIDER_CA_BUNDLE or True,
            **request,
        )

    def exchange(
        self,
        method: str,
        url: str,
        *,
        total: float,
        on_headers: Callable[[Mapping[str, str]], None] | None = None,
        **request: Any,
    ) -> Reply:
        """Send and read the whole answer within `total` seconds; `on_headers` sees the headers
        before the body is read. Where the framing is wrong, the answer is what can be read of it
        all the same (`framing.salvage`)."""
        self.wire.received = bytearray()
        reply = self._request(method, url, total=total, on_headers=on_headers, **request)
        received, self.wire.received = bytes(self.wire.received), None
        message = framing.parse(received)
        self._message = message if isinstance(reply, Answer) else None
        return _judge(reply, message)

    def _request(
        self,
        method: str,
        url: str,
        *,
        on_headers: Callable[[Mapping[str, str]], None] | None,
        **request: Any,
    ) -> Reply:
        try:
            with self.open(method, url, **request) as response:
                if on_headers:
                    on_headers(response.headers)
                body = read_body(response, MAX_ANSWER_BYTES)
                return Answer(response.status_code, response.headers, body)
        except WIRE_ERRORS as exc:
            cause = innermost(exc)
            text = f"{type(exc).__name__}: {cause}"
            if self.wire.connected:
                return NoReply(text)
            return NotSent(text, overslept=cause == TooLateToSend.__name__)

    def keep_connection(self) -> None:
        """Let the next request take the connection of the last exchange, if its answer was an
        ordinary one. Call only when its content is believed."""
        self._is_kept = self._message is not None and self._message.is_reusable
        self._message = None

    def drop_connections(self) -> None:
        self._is_kept, self._message = False, None
        self.session.close()


def _judge(reply: Reply, message: framing.Message | None) -> Reply:
    """The reply as it is, unless its framing was wrong and an object can be read all the same. A
    head that was cut, which the library takes for a whole one, is no answer."""
    if message is None:
        is_cut = isinstance(reply, Answer) and reply.status != SWITCHING_PROTOCOLS
        return NoReply("the head was cut") if is_cut else reply
    if message.is_exact and isinstance(reply, Answer):
        return reply
    found = framing.salvage(message)
    if found is not None:
        headers = CaseInsensitiveDict(message.headers)
        return Answer(message.status, headers, found, is_exact=False)
    return replace(reply, is_exact=False) if isinstance(reply, Answer) else reply


def read_body(response: requests.Response, most: int) -> bytes:
    parts, size = [], 0
    for part in response.iter_content(65536):
        size += len(part)
        if size > most:
            raise BodyTooLarge(f"more than {most} bytes")
        parts.append(part)
    return b"".join(parts)


def innermost(exc: BaseException) -> str:
    """The class of the error at the bottom; its text may hold an address with a secret in it."""
    seen: list[BaseException] = [exc]
    while True:
        last = seen[-1]
        inner = getattr(last, "reason", None) or last.__cause__ or last.__context__
        if not isinstance(inner, BaseException) or inner in seen:
            return type(last).__name__
        seen.append(inner)


_of_thread = threading.local()


def polling_client(*, trust_env: bool = True) -> Client:
    """This thread's client whose connections may be kept: polls repeat, and losing one costs
    nothing."""
    clients: dict[bool, Client] = _of_thread.__dict__.setdefault("clients", {})
    if trust_env not in clients:
        clients[trust_env] = Client(trust_env=trust_env)
    _of_thread.latest = clients[trust_env]
    return clients[trust_env]


def settle_connection(*, is_believed: bool) -> None:
    """Keep or drop the connection of this thread's latest poll."""
    client: Client | None = _of_thread.__dict__.pop("latest", None)
    if client is None:
        return
    if is_believed:
        client.keep_connection()
    else:
        client.drop_connections()
