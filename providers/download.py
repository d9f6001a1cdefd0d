"""Fetching a result. Any public https host may serve one, without our key; only exactly configured
origins may be private or plain http. The address really connected to is what is checked, at every
hop, and the type is read from the content."""

import base64
import io
import ipaddress
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import requests
from django.conf import settings
from PIL import Image

from providers.answers import Artifact
from providers.connections import AddressRefused, BodyTooLarge
from providers.http import WIRE_ERRORS, Client, innermost, read_body

MAX_HOPS = 3
DEFAULT_PORTS = {"http": 80, "https": 443}
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Below the number at which Pillow warns of a decompression bomb.
MAX_PIXELS = 80_000_000
FORMATS = ("PNG", "JPEG", "WEBP")
TYPES = {
    "PNG": ("image/png", "png"),
    "JPEG": ("image/jpeg", "jpg"),
    "MPO": ("image/jpeg", "jpg"),  # a JPEG with more pictures behind the first
    "WEBP": ("image/webp", "webp"),
}
FIRST_BYTES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF")
# Unicast addresses of the public internet; 6to4 is a way through it into a network of our own.
PUBLIC_V6 = ipaddress.ip_network("2000::/3")
TRANSLATED_V6 = ipaddress.ip_network("2002::/16")


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


Got = Fetched | Refused | NotFetched
Origin = tuple[str, str | None, int | None]


def fetch(artifact: Artifact, *, own_origins: frozenset[str]) -> Got:
    """The picture behind an artifact, within FETCH_TIMEOUT seconds and FETCH_MAX_BYTES bytes."""
    if artifact.b64 or artifact.url[:5].lower() == "data:":
        return _decode(artifact.b64 or artifact.url)
    own = frozenset(map(_origin_of, own_origins | frozenset(settings.RESULT_ORIGINS)))
    until = time.monotonic() + settings.FETCH_TIMEOUT
    url = artifact.url
    with Client(trust_env=False) as client:
        for _ in range(MAX_HOPS + 1):
            got = _hop(client, url, own, until)
            if not isinstance(got, str):
                return got
            url = got
    return Refused("too_many_redirects")


def _hop(client: Client, url: str, own: frozenset[Origin], until: float) -> Got | str:
    """One request; a string is where the next one leads."""
    try:
        # Spelled as requests will connect to it, so that guard and connection read it alike.
        url = str(requests.Request("GET", url).prepare().url)
        origin = _origin_of(url)
    except ValueError:
        return Refused("address")
    if "@" in urlsplit(url).netloc or (origin not in own and origin[0] != "https"):
        return Refused("address")
    try:
        return _read(client, url, None if origin in own else _refuse_private, until)
    except BodyTooLarge:
        return Refused("too_large")
    except WIRE_ERRORS as exc:
        if innermost(exc) == AddressRefused.__name__:
            return Refused("address")
        return NotFetched("no_answer")


def _read(
    client: Client, url: str, check_peer: Callable[[str], None] | None, until: float
) -> Got | str:
    total = max(until - time.monotonic(), 0.01)
    with client.open("GET", url, total=total, check_peer=check_peer) as response:
        if response.status_code in REDIRECTS and response.headers.get("Location"):
            return urljoin(url, response.headers["Location"])
        if response.status_code != 200:
            gone = response.status_code in (404, 410)
            return NotFetched("gone" if gone else "refused_by_host", gone=gone)
        return _picture(read_body(response, settings.FETCH_MAX_BYTES))


def _decode(said: str) -> Got:
    """Base64, bare or in a `data:` address, however it is wrapped and padded."""
    is_address = said[:5].lower() == "data:"
    text = "".join((said.partition(",")[2] if is_address else said).split()).rstrip("=")
    if len(text) * 3 // 4 > settings.FETCH_MAX_BYTES:
        return Refused("too_large")
    try:
        got = _picture(base64.b64decode(text + "=" * (-len(text) % 4), validate=True))
    except ValueError:
        return Refused("not_a_picture")
    return Refused("cut") if isinstance(got, NotFetched) else got


def _picture(content: bytes) -> Got:
    """Known by its bytes, whatever the host calls it; read whole, so that a cut file shows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                if image.width * image.height > MAX_PIXELS:
                    return Refused("too_large")
                return _read_pixels(image, content)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        return Refused("too_large")
    except (OSError, SyntaxError, ValueError):
        return NotFetched("cut") if _begins_like_one(content) else Refused("not_a_picture")


def _read_pixels(image: Image.Image, content: bytes) -> Fetched:
    """Raises where the pixels end before the picture does."""
    image.load()
    media_type, extension = TYPES[str(image.format)]
    return Fetched(content, media_type, extension, image.width, image.height)


def _begins_like_one(content: bytes) -> bool:
    """As far as it goes, which may be nowhere: then it was cut on the way."""
    return any(content[: len(first)] == first[: len(content)] for first in FIRST_BYTES)


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
