"""One request over HTTP, with what is really known of it.

Whether a request may have reached the provider is what `connections` noted, since the
exception type proves nothing. Every exchange has a total deadline besides the per-read one, follows
no redirect and retries nothing.

A connection serves again only after `keep_connection`, which wants an ordinary answer that was
believed (docs/adr/0011-answers-and-their-questions.md).
"""

import json as jsonlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from http.client import HTTPException
from typing import Any

import requests
from django.conf import settings
from requests.auth import AuthBase
from requests.structures import CaseInsensitiveDict
from urllib3.exceptions import HTTPError

from providers.wire import framing
from providers.wire.connections import (
    SWITCHING_PROTOCOLS,
    BodyTooLarge,
    NotingAdapter,
    Session,
    TooLateToSend,
    Wire,
)

WIRE_ERRORS = (requests.RequestException, HTTPError, HTTPException, OSError, ValueError)
MAX_ANSWER_BYTES = 64 * 2**20
# Seconds without a byte, where no adapter names its own.
SILENCE = 30.0
# Heads, chunk sizes and trailers come on top.
MAX_FRAMING_BYTES = 2**20


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
    missed_window: bool = False


@dataclass(frozen=True)
class NoReply:
    """Lost after connect(): it may have arrived, run and been billed."""

    text: str


Reply = Answer | NotSent | NoReply


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


class Client:
    """One thread's connections to providers. A submit takes a fresh one: a kept connection that
    the peer is just closing would turn a request never seen into an unknown."""

    def __init__(self, *, trust_env: bool = True) -> None:
        self.wire = Wire()
        self._is_kept = False
        self.session = Session()
        self.session.trust_env = trust_env
        adapter = NotingAdapter(self.wire)
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
        silence: float | None = None,
        send_by: datetime | None = None,
        check_peer: Callable[[str], None] | None = None,
        **request: Any,
    ) -> requests.Response:
        """Read the headers, not the body. Raises the error of the wire."""
        if not self._is_kept:
            self.session.close()
        self._is_kept = self.wire.connected = False
        self.wire.deadline = time.monotonic() + total
        self.wire.send_by, self.wire.check_peer = send_by, check_peer
        silence = SILENCE if silence is None else silence
        return self.session.request(
            method,
            url,
            timeout=(min(settings.CONNECT_TIMEOUT, total), min(silence, total)),
            allow_redirects=False,
            stream=True,
            verify=settings.PROVIDER_CA_BUNDLE or True,
            **request,
        )

    def keep_bytes(self, most: int) -> None:
        """Keep the bytes of the next answers for `received_body`, with room for their framing."""
        self.wire.received = bytearray()
        self.wire.most_received = most + most // 4 + MAX_FRAMING_BYTES

    def received_body(self) -> tuple[bytes, bool]:
        """Of an answer that the library could not read: what came of its body, and whether the
        framing marks it as complete."""
        message = framing.parse(bytes(self.wire.received or b""))
        if message is None:
            return b"", False
        has_end = any(map(message.values_of, ("content-length", "transfer-encoding")))
        return framing.declared_body(message), message.is_exact and has_end

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
        self.wire.most_received = MAX_ANSWER_BYTES + MAX_FRAMING_BYTES
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
            return NotSent(text, missed_window=cause == TooLateToSend.__name__)

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
    """This thread's client, which may keep connections: polls repeat, and losing one costs
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
