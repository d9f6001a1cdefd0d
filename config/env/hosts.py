"""Host names and addresses as browsers send them: ASCII, lower case, IPv6 in canonical form.

Browsers follow UTS 46 and the URL standard, which allow more than IDNA 2008, such as emoji. A
ValueError has a text for the operator.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, urlsplit

import idna

DEFAULT_PORTS = {"http": 80, "https": 443}
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Names of containers, which no browser ever sends to us.
INNER_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
PORT = re.compile(r"[0-9]{1,5}")
NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
JOINERS = "\u200c\u200d"
LONGEST_NAME = 253


@dataclass(frozen=True)
class Address:
    scheme: str
    userinfo: str
    """As it was given, with its @; it may hold a password."""
    host: str
    port: int | None
    """None where it is the default of the scheme."""
    path: str
    query: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        return bracketed(self.host) + (f":{self.port}" if self.port else "")

    @property
    def url(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{self.userinfo}{self.authority}{self.path}{query}"


def bracketed(host: str) -> str:
    """As in a URL and in the Host header."""
    return f"[{host}]" if ":" in host else host


def parse_url(text: str, *, inner: bool = False) -> Address:
    """`inner`: only we connect to it, so that its name may have underscores."""
    if not text.isprintable() or " " in text or "\\" in text:
        raise ValueError("it contains a space, a backslash or a control character")
    parts = urlsplit(text)
    userinfo, at, rest = parts.netloc.rpartition("@")
    host, port = _split_port(rest)
    if parts.fragment:
        raise ValueError("the part after # is never sent to a server")
    return Address(
        scheme=parts.scheme,
        userinfo=userinfo + at,
        host=parse_host(host, inner=inner),
        port=None if port == DEFAULT_PORTS.get(parts.scheme) else port,
        path=quote(parts.path, safe="/%:@!$&'()*+,;=~"),
        query=parts.query,
    )


def parse_host(text: str, *, inner: bool = False) -> str:
    """Without brackets, whether or not it was given with them."""
    literal = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if literal != text or ":" in text:
        if "%" in literal:
            raise ValueError("an IPv6 address with a zone works only on this machine")
        address = IPv6Address(literal)
        mapped = address.ipv4_mapped
        # Python writes the last part of a mapped address in one way or the other, by its version.
        return f"::ffff:{int(mapped) >> 16:x}:{int(mapped) & 0xFFFF:x}" if mapped else str(address)
    if not text:
        raise ValueError("the host is missing")
    name = idna.uts46_remap(text, std3_rules=False, transitional=False).removesuffix(".")
    labels = [_to_ascii(label) for label in name.split(".")]
    if NUMBER.fullmatch(labels[-1]):
        return str(IPv4Address(".".join(labels)))
    shape = INNER_LABEL if inner else LABEL
    name = ".".join(labels)
    if len(name) > LONGEST_NAME or not all(shape.fullmatch(label) for label in labels):
        raise ValueError(f"{text[:80]!r} is not a host name")
    return name


def _split_port(netloc: str) -> tuple[str, int | None]:
    """An IPv6 address without brackets is refused: its end may be meant as a port."""
    host, colon, port = netloc.rpartition(":")
    if not colon or netloc.endswith("]"):
        return netloc, None
    if ":" in host and not host.endswith("]"):
        raise ValueError("an IPv6 address needs brackets, as in http://[2001:db8::5]:8000")
    if not port:
        return host, None
    if not PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        raise ValueError(f"{port[:20]!r} is not a port")
    return host, int(port)


def _to_ascii(label: str) -> str:
    if label.isascii() and not label.startswith("xn--"):
        return label
    is_encoded = label.isascii()
    text = label[4:].encode("ascii").decode("punycode") if is_encoded else label
    if text.isascii() or idna.uts46_remap(text, std3_rules=False, transitional=False) != text:
        raise ValueError(f"{text[:80]!r} is not a host name")
    idna.check_initial_combiner(text)
    idna.check_bidi(text)
    for position, character in enumerate(text):
        if character in JOINERS and not idna.valid_contextj(text, position):
            raise ValueError(f"{text[:80]!r} is not a host name")
    encoded = "xn--" + text.encode("punycode").decode("ascii")
    if is_encoded and encoded != label:
        raise ValueError(f"{label[:80]!r} is not a host name")
    return encoded
