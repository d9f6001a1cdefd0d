"""The client's address and network, which limits for anonymous visitors are counted by.

Each trusted proxy appends its peer's address to X-Forwarded-For. So with n proxies the n-th entry
from the right is the client's, and entries further left can be forged. If that entry is missing or
not an address, the client is unknown. A proxy's own address is never used instead, because all
clients share it.
"""

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest

LONGEST_ENTRY = 100
NOWHERE = "unknown"
SUBNET_BITS = 64
"""A client usually gets at least this subnet and can use any address in it."""

# IPv4 addresses as an IPv6-only site sees them (RFC 6052).
TRANSLATED = IPv6Network("64:ff9b::/96")
BRACKETED = re.compile(r"\[(?P<host>[^\[\]]*)\](?::[0-9]{1,5})?")
WITH_PORT = re.compile(r"(?P<host>[^:]*):[0-9]{1,5}")


def parse_client_address(peer: str, forwarded: str, proxies: int) -> str | None:
    """The client's address in normal form, or None if it is unknown.

    `forwarded` is the whole header; several headers are joined. `proxies` is the number of trusted
    proxies.
    """
    if proxies == 0:
        return _parse_entry(peer)
    entries = forwarded.rsplit(",", proxies)[-proxies:]
    return _parse_entry(entries[0]) if len(entries) == proxies else None


def find_network(address: str) -> str:
    """An IPv4 address itself, or the /64 of an IPv6 address."""
    parsed = _normalize(ip_address(address))
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    return str(IPv6Network((int(parsed), SUBNET_BITS), strict=False))


def find_request_network(request: HttpRequest) -> str | None:
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    address = parse_client_address(read_peer(request), forwarded, settings.TRUSTED_PROXIES)
    return find_network(address) if address else None


def find_scope_network(scope: Mapping[str, Any]) -> str | None:
    """The same for an ASGI connection, before there is a request."""
    names = (value for name, value in scope["headers"] if name == b"x-forwarded-for")
    forwarded = b",".join(names).decode("latin-1")
    peer = (scope.get("client") or ("",))[0] or ""
    address = parse_client_address(peer, forwarded, settings.TRUSTED_PROXIES)
    return find_network(address) if address else None


def find_quota_network(request: HttpRequest) -> str:
    """For quotas, which must not fail open: the peer's network if the client's is unknown."""
    peer = _parse_entry(read_peer(request))
    return find_request_network(request) or (find_network(peer) if peer else NOWHERE)


def read_peer(request: HttpRequest) -> str:
    """The address at the other end of the connection; empty for a Unix socket."""
    return request.META.get("REMOTE_ADDR") or ""


def _parse_entry(entry: str) -> str | None:
    """Accepts the forms that proxies write: with a port, brackets, quotes or a zone."""
    if len(entry) > LONGEST_ENTRY:
        return None
    entry = entry.strip(' \t"')
    shape = BRACKETED.fullmatch(entry) or WITH_PORT.fullmatch(entry)
    try:
        return str(_normalize(ip_address(shape["host"] if shape else entry)))
    except ValueError:
        return None


def _normalize(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Drops the zone, and unwraps an IPv4 address that is embedded in an IPv6 one."""
    if isinstance(address, IPv4Address):
        return address
    address = IPv6Address(int(address))
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address
