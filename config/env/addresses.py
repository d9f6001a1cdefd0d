"""Readers of addresses and hosts, in the form in which browsers and clients send them."""

from collections.abc import Sequence
from ipaddress import ip_address

from django.core.exceptions import ImproperlyConfigured

from config.env.definitions import Help, define
from config.env.hosts import Address, parse_host, parse_url
from config.env.values import read_secret, read_str, read_words, shown

WEB = ("http", "https")


def read_host(name: str, default: str = "", help: str | Help = "") -> str:
    """A host name or an IP address; an IPv6 address without its brackets."""
    define(name, "host name or IP address", default, help)
    text = read_str(name, default)
    try:
        return parse_host(text) if text else ""
    except ValueError as exc:
        raise ImproperlyConfigured(
            f"{name} must be a host name or an IP address, not {shown(text)}: {exc}"
        ) from None


def to_ascii_host(name: str, host: str) -> str:
    """Of a host beyond ASCII; anything else, such as the folder of a socket, stays as it is."""
    if host.isascii():
        return host
    try:
        return parse_host(host, inner=True)
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} has an invalid host: {exc}") from None


def read_site_url(name: str, help: str | Help = "") -> str:
    """The address of this site: scheme, host and port. It is served at no path."""
    define(name, "URL without a path", "", help)
    text = read_str(name)
    if not text:
        return ""
    address = _parse(name, text, WEB)
    if not _is_origin(address):
        raise ImproperlyConfigured(
            f"{name} must be an address without a path, such as https://studio.example.org"
        )
    if _is_nowhere(address.host):
        raise ImproperlyConfigured(f"{name}: no browser can open {address.origin}")
    return address.origin


def read_origins(name: str, help: str | Help = "") -> list[str]:
    """`https://host:port, ...`: what an address may begin with, and no more than that."""
    define(name, "list of origins", "", help)
    found = [_parse(name, word, WEB, inner=True) for word in read_words(name)]
    if not all(map(_is_origin, found)):
        raise ImproperlyConfigured(
            f"{name} must list origins such as https://host:port, without a path"
        )
    return list(dict.fromkeys(address.origin for address in found))


def read_base_url(name: str, default: str = "", help: str | Help = "") -> str:
    """An address that paths are appended to, without a trailing slash, or the empty string."""
    define(name, "URL", default, help)
    text = read_str(name, default)
    if not text:
        return ""
    address = _parse(name, text, WEB, inner=True)
    if address.userinfo or address.query:
        raise ImproperlyConfigured(f"{name} must have neither a password nor a query")
    return address.url.rstrip("/")


def read_redis_url(name: str, help: str | Help = "") -> str:
    text = read_secret(name, help, type="URL")
    if not text:
        return ""
    address = _parse(name, text, ("redis", "rediss"), inner=True)
    database = address.path.strip("/")
    if database and not (database.isascii() and database.isdigit()):
        raise ImproperlyConfigured(f"{name} must end in the number of a database, as in /0")
    return address.url.rstrip("/")


def read_secret_url(name: str, help: str | Help = "") -> str:
    """An address that may hold a secret: it is not repeated when it is wrong."""
    text = read_secret(name, help, type="URL")
    try:
        return _parse(name, text, WEB, inner=True).url if text else ""
    except ImproperlyConfigured:
        raise ImproperlyConfigured(f"{name} must be an address such as https://...") from None


def _parse(name: str, text: str, schemes: Sequence[str], *, inner: bool = False) -> Address:
    shapes = " or ".join(f"{scheme}://..." for scheme in schemes)
    # The part before an @ may be a password, and a reason may repeat it.
    is_secret = "@" in text
    try:
        address = parse_url(text, inner=inner)
        if address.scheme not in schemes:
            raise ValueError("the scheme is another one")
    except ValueError as exc:
        wrong = "" if is_secret else f", not {shown(text)}: {exc}"
        raise ImproperlyConfigured(f"{name} must be an address such as {shapes}{wrong}") from None
    return address


def _is_origin(address: Address) -> bool:
    return not (address.userinfo or address.path.strip("/") or address.query)


def _is_nowhere(host: str) -> bool:
    try:
        ip = ip_address(host)
    except ValueError:
        return False
    return ip.is_unspecified or ip.is_multicast
