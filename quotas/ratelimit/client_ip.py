"""From where a request comes, as far as it can be known: what limits for strangers are counted by.

Each proxy of our own appends to X-Forwarded-For the address that it was asked from. So with n of
them the n-th entry from the right is the client's, and what stands further left is anybody's word.
Where that entry is missing or no address, the client is not known: never is the address of a proxy
given out for it, since that is everybody's.
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
"""What one client is given at the least: it may use any address of it."""

# An IPv4 address in the form an IPv6-only site sees it in (RFC 6052).
TRANSLATED = IPv6Network("64:ff9b::/96")
BRACKETED = re.compile(r"\[(?P<host>[^\[\]]*)\](?::[0-9]{1,5})?")
WITH_PORT = re.compile(r"(?P<host>[^:]*):[0-9]{1,5}")


def address_of(peer: str, forwarded: str, proxies: int) -> str | None:
    """The client's address in its normal form; None where it is not known.

    `forwarded` is the whole header, of several the joined one; `proxies` how many are our own.
    """
    if proxies == 0:
        return _address_in(peer)
    entries = forwarded.rsplit(",", proxies)[-proxies:]
    return _address_in(entries[0]) if len(entries) == proxies else None


def network_of(address: str) -> str:
    """Whose address it is: an IPv4 address itself, of IPv6 its /64."""
    parsed = _plain(ip_address(address))
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    return str(IPv6Network((int(parsed), SUBNET_BITS), strict=False))


def network_of_request(request: HttpRequest) -> str | None:
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    address = address_of(peer_of(request), forwarded, settings.TRUSTED_PROXIES)
    return network_of(address) if address else None


def network_of_scope(scope: Mapping[str, Any]) -> str | None:
    """The same of an ASGI connection, before there is a request."""
    names = (value for name, value in scope["headers"] if name == b"x-forwarded-for")
    forwarded = b",".join(names).decode("latin-1")
    peer = (scope.get("client") or ("",))[0] or ""
    address = address_of(peer, forwarded, settings.TRUSTED_PROXIES)
    return network_of(address) if address else None


def counted_network_of(request: HttpRequest) -> str:
    """For what must not fail open: the peer's where the client's is not known."""
    peer = _address_in(peer_of(request))
    return network_of_request(request) or (network_of(peer) if peer else NOWHERE)


def peer_of(request: HttpRequest) -> str:
    """Who is at the other end of the connection; empty for a socket of this machine."""
    return request.META.get("REMOTE_ADDR") or ""


def _address_in(entry: str) -> str | None:
    """As proxies write it: perhaps with a port, in brackets or quotes, with a zone."""
    if len(entry) > LONGEST_ENTRY:
        return None
    entry = entry.strip(' \t"')
    shape = BRACKETED.fullmatch(entry) or WITH_PORT.fullmatch(entry)
    try:
        return str(_plain(ip_address(shape["host"] if shape else entry)))
    except ValueError:
        return None


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Without a zone; the IPv4 address where one is carried in the form of the other."""
    if isinstance(address, IPv4Address):
        return address
    address = IPv6Address(int(address))
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address
