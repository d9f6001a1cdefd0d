"""Fetching a result. Any public https host may serve one, without our key; only exactly configured
origins may be private or plain http. The address really connected to is what is checked, at every
hop, and the type is read from the content."""

import base64
import binascii
import io
import ipaddress
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from PIL import Image, UnidentifiedImageError

from providers.answers import Artifact
from providers.http import WIRE_ERRORS, AddressRefused, BodyTooLarge, Client, innermost, read_body

MAX_HOPS = 3
MAX_PIXELS = 100_000_000
TYPES = {
    "PNG": ("image/png", "png"),
    "JPEG": ("image/jpeg", "jpg"),
    "WEBP": ("image/webp", "webp"),
}
# Public by their number, but a way into a network of our own.
TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))


@dataclass(frozen=True)
class Fetched:
    content: bytes
    media_type: str
    extension: str
    width: int
    height: int


@dataclass(frozen=True)
class Refused:
    """It must not or cannot ever be taken: asking again would change nothing."""

    why: str


@dataclass(frozen=True)
class NotFetched:
    """Not this time. `gone`: the host says that there is no such file."""

    why: str
    gone: bool = False


def fetch(artifact: Artifact, *, own_origins: frozenset[str]) -> Fetched | Refused | NotFetched:
    """The picture behind an artifact, within FETCH_TIMEOUT seconds and FETCH_MAX_BYTES bytes."""
    if artifact.b64 or artifact.url.startswith("data:"):
        return _decode(artifact.b64 or artifact.url.partition(",")[2])
    until = time.monotonic() + settings.FETCH_TIMEOUT
    url = artifact.url
    with Client(trust_env=False) as client:
        for _ in range(MAX_HOPS + 1):
            got = _get(client, url, own_origins | frozenset(settings.RESULT_ORIGINS), until)
            if not isinstance(got, str):
                return got
            url = urljoin(url, got)
    return Refused("too_many_redirects")


def _get(
    client: Client, url: str, origins: frozenset[str], until: float
) -> Fetched | Refused | NotFetched | str:
    """One hop; a string is where the next one leads."""
    check_peer = None
    if not _is_own(url, origins):
        if urlsplit(url).scheme != "https":
            return Refused("address")
        check_peer = _refuse_private
    try:
        return _read(client, url, check_peer, until)
    except BodyTooLarge:
        return Refused("too_large")
    except WIRE_ERRORS as exc:
        if innermost(exc) == AddressRefused.__name__:
            return Refused("address")
        return NotFetched("no_answer")


def _read(
    client: Client, url: str, check_peer: Callable[[str], None] | None, until: float
) -> Fetched | Refused | NotFetched | str:
    total = max(until - time.monotonic(), 0.01)
    with client.open("GET", url, total=total, check_peer=check_peer) as response:
        if 300 <= response.status_code < 400 and response.headers.get("Location"):
            return response.headers["Location"]
        if response.status_code != 200:
            gone = response.status_code in (404, 410)
            return NotFetched("gone" if gone else "refused_by_host", gone=gone)
        return _picture(read_body(response, settings.FETCH_MAX_BYTES))


def _decode(text: str) -> Fetched | Refused | NotFetched:
    try:
        return _picture(base64.b64decode(text, validate=True))
    except binascii.Error:
        return Refused("not_a_picture")


def _picture(content: bytes) -> Fetched | Refused | NotFetched:
    """Known by its bytes, whatever the host calls it; read whole, so that a cut file shows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=list(TYPES)) as image:
                if image.width * image.height > MAX_PIXELS:
                    return Refused("too_large")
                return _read_pixels(image, content)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        return Refused("too_large")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError):
        return Refused("not_a_picture")


def _read_pixels(image: Image.Image, content: bytes) -> Fetched | NotFetched:
    """A picture by its first bytes that cannot be read to the end was cut on the way."""
    try:
        image.load()
    except (OSError, SyntaxError, ValueError):
        return NotFetched("cut")
    media_type, extension = TYPES[str(image.format)]
    return Fetched(content, media_type, extension, image.width, image.height)


def _is_own(url: str, origins: frozenset[str]) -> bool:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" in origins


def _refuse_private(address: str) -> None:
    """Raises AddressRefused unless the peer's address is a public one."""
    peer = ipaddress.ip_address(address.partition("%")[0])
    peer = getattr(peer, "ipv4_mapped", None) or peer
    translated = peer.version == 6 and any(peer in network for network in TRANSLATED)
    if not peer.is_global or peer.is_multicast or translated:
        raise AddressRefused(address)
