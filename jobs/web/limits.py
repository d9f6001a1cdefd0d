"""Rate limits per person and per network, endpoint by endpoint.

A request counts as a page unless its endpoint is listed here. Rules match view names, never URL
prefixes. A person is a signed-in user, or the visitor of a signed cookie. A client with neither is
counted with all others of its network, against the network's much higher limit. Anything that a
fresh cookie must not multiply is always counted per network as well.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.urls import Resolver404, ResolverMatch, resolve

from jobs.people.requests import SiteRequest
from jobs.people.snapshots import find_account_key
from jobs.people.visitors import known_visitor
from jobs.web.htmx import wants_part
from quotas.ratelimit import bypassed
from quotas.ratelimit.client_ip import find_request_network
from quotas.ratelimit.limiter import Rule, Window
from quotas.states import BypassReason

MINUTE, TEN_MINUTES = timedelta(minutes=1), timedelta(minutes=10)
LONGEST_NAME = 150
# Bodies that the view will refuse too.
UNREADABLE = (BadRequest, SuspiciousOperation, MultiPartParserError, UnreadablePostError)


@dataclass(frozen=True)
class Limit:
    """Of one thing: so much a person, and so much a network."""

    person: Rule
    network: Rule
    fresh_cookie_helps: bool = True
    """False: a network's people are counted together as well, not only those without a cookie."""


def limit(name: str, most: int, within: timedelta, *, network: int) -> Limit:
    return Limit(Rule(name, most, within), Rule(f"{name} of a network", network, within))


def strict(name: str, most: int, within: timedelta, *, network: int | None = None) -> Limit:
    of_network = Rule(f"{name} of a network", network or 10 * most, within)
    return Limit(Rule(name, most, within), of_network, fresh_cookie_helps=False)


def secret(name: str, most: int, within: timedelta) -> Limit:
    """Unlimited, it would let passwords be guessed, so it never depends only on Redis."""
    person = Rule(name, most, within, guards_secret=True)
    of_network = Rule(f"{name} of a network", 10 * most, within, guards_secret=True)
    return Limit(person, of_network, fresh_cookie_helps=False)


PAGES = limit("pages", 100, MINUTE, network=2_000)
POLLS = limit("polls", 600, MINUTE, network=10_000)
PICTURES = limit("pictures", 600, MINUTE, network=10_000)
# Machines have no cookie, and who brings one gets no more by it.
WEBHOOKS = strict("hooks", 3_000, MINUTE, network=3_000)
ORDERS = strict("orders", 20, MINUTE)
UPLOADS = strict("uploads", 10, MINUTE)
SIGN_IN = secret("sign-in", 10, MINUTE)
SIGN_UP = secret("sign-up", 5, TEN_MINUTES)
PASSWORD_RESET = secret("password reset", 3, TEN_MINUTES)
SECOND_FACTOR = secret("second factor", 10, MINUTE)
SIGN_IN_NAME = Rule("sign-in by name", 20, TEN_MINUTES, guards_secret=True)

# They tell machines that the site lives. Static files never come as far as this.
UNLIMITED = frozenset({"healthz", "readyz"})
# What a page asks for by itself, or many of at once. How many streams are open has a bound of its
# own (LIVE_STREAMS), which one that is another's, or is closed at once, never comes to.
INSTEAD_OF_PAGES = {
    "job_stream": POLLS,
    "picture_file": PICTURES,
    "picture_thumbnail": PICTURES,
    "hook": WEBHOOKS,
}
POLLED = frozenset({"home", "job", "gallery", "admin:dashboard"})
# Counted in addition, for POST. Endpoints of planned pages are listed already.
POSTED = {
    "sign_in": SIGN_IN,
    "admin:login": SIGN_IN,
    "second_factor": SECOND_FACTOR,
    "sign_up": SIGN_UP,
    "password_reset": PASSWORD_RESET,
    "new_picture": ORDERS,
    "upload": UPLOADS,
}


def endpoint_of(request: SiteRequest) -> str:
    """The view name of the requested URL, with its namespace; empty where no view matches."""
    match = _match_of(request)
    return match.view_name if match else ""


def list_windows(request: SiteRequest) -> Iterator[Window]:
    endpoint = endpoint_of(request)
    if endpoint in UNLIMITED:
        return
    person, network = _person_of(request), find_request_network(request)
    limits = list(_limits_of(request, endpoint))
    for each in limits:
        yield from _windows_of(each, person, network)
    if not network and any(_counts_network(each, person) for each in limits):
        bypassed.count(BypassReason.NO_ADDRESS)
    if request.method == "POST" and POSTED.get(endpoint) is SIGN_IN:
        yield from _window_of_name(request)


def _match_of(request: SiteRequest) -> ResolverMatch | None:
    try:
        return resolve(request.path_info)
    except Resolver404:
        return None


def _limits_of(request: SiteRequest, endpoint: str) -> Iterator[Limit]:
    if request.method == "POST" and endpoint in POSTED:
        yield POSTED[endpoint]
    is_poll = endpoint in POLLED and request.method in ("GET", "HEAD") and wants_part(request)
    yield POLLS if is_poll else INSTEAD_OF_PAGES.get(endpoint, PAGES)


def _windows_of(limit: Limit, person: str | None, network: str | None) -> Iterator[Window]:
    if person:
        yield Window(limit.person, person)
    if network and _counts_network(limit, person):
        yield Window(limit.network, f"network {network}")


def _counts_network(limit: Limit, person: str | None) -> bool:
    return not (person and limit.fresh_cookie_helps)


def _person_of(request: SiteRequest) -> str | None:
    user = find_account_key(request)
    visitor = None if user else known_visitor(request)
    return f"user {user}" if user else f"visitor {visitor}" if visitor else None


def _window_of_name(request: SiteRequest) -> Iterator[Window]:
    """Normalise the name as the sign-in form does (strip blanks), and ignore its case."""
    try:
        name = request.POST.get("username", "").strip()
    except UNREADABLE:
        return
    name = unicodedata.normalize("NFKC", name[:LONGEST_NAME]).strip().casefold()
    if name:
        yield Window(SIGN_IN_NAME, f"name {name}")
