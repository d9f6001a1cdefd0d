"""Fetching a result. Any public https host may serve one, without our key; only exactly configured
origins may be private or plain http. The address really connected to is what is checked, at every
hop, and the type is read from the content (`providers.wire.picture_files`)."""

import hashlib
import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import requests
from django.conf import settings

from providers.outcomes import Artifact
from providers.wire.connections import AddressRefused, BodyTooLarge
from providers.wire.http import WIRE_ERRORS, Client, innermost, read_body
from providers.wire.picture_files import Cut, Fetched, Unreadable, read_picture

MAX_HOPS = 3
DEFAULT_PORTS = {"http": 80, "https": 443}
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Answers to an address that has expired: the provider may have a new one.
EXPIRED = frozenset({401, 403, 404, 410})
# Unicast addresses of the public internet; 6to4 is a way through it into a network of our own.
PUBLIC_V6 = ipaddress.ip_network("2000::/3")
TRANSLATED_V6 = ipaddress.ip_network("2002::/16")


@dataclass(frozen=True)
class DownloadRefused:
    """It must not or cannot ever be taken: asking again would change nothing."""

    why: str


@dataclass(frozen=True)
class NotFetched:
    """Not this time. `expired`: the host does not serve this address, or not any more. `sha256`
    is that of the bytes that came, where they may be a part of the file."""

    why: str
    expired: bool = False
    sha256: str = ""


Got = Fetched | Unreadable | DownloadRefused | NotFetched
Origin = tuple[str, str | None, int | None]


def ignore_size(size: int) -> None:
    """For a fetch without a file to store."""


@dataclass(frozen=True)
class Fetch:
    """One fetch. `seen` are the hashes of files that came before and ended too early; `make_room`
    takes the announced size before the file is read, and may raise."""

    own: frozenset[Origin]
    until: float
    seen: frozenset[str] = frozenset()
    make_room: Callable[[int], object] = ignore_size

    def read(self, content: bytes, *, is_whole: bool) -> Got:
        """`is_whole`: by the framing, this is the whole file."""
        if is_whole:
            got = read_picture(content)
            if not isinstance(got, Cut):
                return got
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in self.seen:
            return NotFetched("cut" if is_whole else "no_answer", sha256=sha256)
        # The same bytes twice were not cut on the way.
        again = read_picture(content, is_all_there_is=True)
        return Unreadable(content, "cut") if isinstance(again, Cut) else again


def fetch(
    artifact: Artifact,
    *,
    own_origins: frozenset[str],
    seen: frozenset[str] = frozenset(),
    make_room: Callable[[int], object] = ignore_size,
) -> Got:
    """The picture at the address of an artifact, within FETCH_TIMEOUT seconds and FETCH_MAX_BYTES
    bytes."""
    own = frozenset(map(_origin_of, own_origins | frozenset(settings.RESULT_ORIGINS)))
    job = Fetch(own, time.monotonic() + settings.FETCH_TIMEOUT, seen, make_room)
    url = artifact.url
    with Client(trust_env=False) as client:
        for _ in range(MAX_HOPS + 1):
            step = _hop(client, url, job)
            if not isinstance(step, str):
                return step
            url = step
    return DownloadRefused("too_many_redirects")


def _hop(client: Client, url: str, job: Fetch) -> Got | str:
    """One request; a string is where the next one leads."""
    try:
        # Spelled as requests will connect to it, so that guard and connection read it alike.
        url = str(requests.Request("GET", url).prepare().url)
        origin = _origin_of(url)
    except ValueError:
        return DownloadRefused("address")
    is_own = origin in job.own
    if "@" in urlsplit(url).netloc or not (is_own or origin[0] == "https"):
        return DownloadRefused("address")
    try:
        return _read(client, url, job, None if is_own else _refuse_private)
    except BodyTooLarge:
        return DownloadRefused("too_large")
    except WIRE_ERRORS as exc:
        if innermost(exc) == AddressRefused.__name__:
            return DownloadRefused("address")
        return NotFetched("no_answer")


def _read(
    client: Client, url: str, job: Fetch, check_peer: Callable[[str], None] | None
) -> Got | str:
    total = max(job.until - time.monotonic(), 0.01)
    client.keep_bytes(settings.FETCH_MAX_BYTES)
    with client.open("GET", url, total=total, check_peer=check_peer) as response:
        if response.status_code in REDIRECTS and response.headers.get("Location"):
            return urljoin(url, response.headers["Location"])
        if response.status_code != 200:
            is_expired = response.status_code in EXPIRED
            gone = response.status_code in (404, 410)
            return NotFetched("gone" if gone else "refused_by_host", expired=is_expired)
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced) <= settings.FETCH_MAX_BYTES:
            job.make_room(int(announced))
        content, is_whole = _read_file(client, response)
    return job.read(content, is_whole=is_whole)


def _read_file(client: Client, response: requests.Response) -> tuple[bytes, bool]:
    """Where the framing or the encoding is wrong, the bytes that came: whether they are the file
    is seen when they come again. Raises where there are none."""
    try:
        return read_body(response, settings.FETCH_MAX_BYTES), True
    except BodyTooLarge:
        raise
    except WIRE_ERRORS:
        content, is_whole = client.received_body()
        if not content:
            raise
        if len(content) > settings.FETCH_MAX_BYTES:
            raise BodyTooLarge("more than the file may have") from None
        return content, is_whole


def read_kept(content: bytes, *, is_encoded: bool) -> Got:
    """The bytes that came inside an answer, from the file that keeps them. They cannot have been
    cut on the way. `is_encoded`: they could not be decoded."""
    if is_encoded:
        return Unreadable(content, "encoding")
    if len(content) > settings.FETCH_MAX_BYTES:
        return DownloadRefused("too_large")
    got = read_picture(content, is_all_there_is=True)
    return Unreadable(content, "cut") if isinstance(got, Cut) else got


def _origin_of(url: str) -> Origin:
    """Scheme, host and port; raises ValueError for what is no address."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS.get(parts.scheme)


def _refuse_private(address: str) -> None:
    """Raises AddressRefused unless the peer's address is a public one."""
    peer = ipaddress.ip_address(address.partition("%")[0])
    peer = getattr(peer, "ipv4_mapped", None) or peer
    if peer.version == 6 and (peer not in PUBLIC_V6 or peer in TRANSLATED_V6):
        raise AddressRefused(address)
    if not peer.is_global or peer.is_multicast:
        raise AddressRefused(address)
