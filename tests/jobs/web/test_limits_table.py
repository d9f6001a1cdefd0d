"""Each rule refuses exactly where it says: by person and by network, with the time travelled."""

from dataclasses import dataclass, field

import pytest
from django.core import signing
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from jobs.people.visitors import COOKIE, COOKIE_SALT
from jobs.web import limits
from quotas.ratelimit import bypassed
from quotas.ratelimit.limiter import Limited, limiter
from tests.jobs.conftest import HTMX

HERE, ELSEWHERE = "203.0.113.7", "203.0.113.8"
SIGNER = signing.get_cookie_signer(COOKIE + COOKIE_SALT)
ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Row:
    """What is asked for; how many a person and a network have of it, in how many minutes."""

    method: str
    path: str
    person: int
    network: int
    minutes: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    fresh_cookie_helps: bool = False


def open_to_fresh_cookies(*row, **more) -> Row:
    return Row(*row, **more, fresh_cookie_helps=True)


TABLE = {
    "pages": open_to_fresh_cookies("GET", "/theme", 100, 2000),
    "forms": open_to_fresh_cookies("POST", "/theme", 100, 2000),
    "nowhere": open_to_fresh_cookies("GET", "/nowhere", 100, 2000),
    "the admin": open_to_fresh_cookies("GET", "/admin/", 100, 2000),
    "polls of home": open_to_fresh_cookies("GET", "/", 600, 10_000, headers=HTMX),
    "polls of a job": open_to_fresh_cookies("GET", f"/jobs/{ID}", 600, 10_000, headers=HTMX),
    "pictures": open_to_fresh_cookies("GET", f"/images/{ID}/file", 600, 10_000),
    "small pictures": open_to_fresh_cookies("GET", f"/images/{ID}/small", 600, 10_000),
    "webhooks": Row("POST", "/hooks/polza/token/", 3000, 3000),
    "orders": Row("POST", "/images/new", 20, 200),
    "uploads": Row("POST", "/to-come/upload", 10, 100),
    "signing in": Row("POST", "/sign-in", 10, 100),
    "signing in as staff": Row("POST", "/admin/login/", 10, 100),
    "the second factor": Row("POST", "/to-come/second_factor", 10, 100),
    "signing up": Row("POST", "/to-come/sign_up", 5, 50, 10),
    "password reset": Row("POST", "/to-come/password_reset", 3, 30, 10),
}
each_row = pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)


@pytest.fixture(autouse=True)
def pages_to_come(settings, clock):
    settings.ROOT_URLCONF = "tests.jobs.pages_to_come"


def ask(row: Row, visitor: str = "", address: str = HERE) -> Limited | None:
    request = RequestFactory(headers=row.headers).generic(row.method, row.path, REMOTE_ADDR=address)
    request.htmx = HtmxDetails(request)
    if visitor:
        request.COOKIES[COOKIE] = SIGNER.sign(visitor)
    return limiter().check(limits.list_windows(request))


def let_through(row: Row, visitors, address: str = HERE) -> int:
    return sum(ask(row, visitor, address) is None for visitor in visitors)


@each_row
def test_a_person_has_so_many(row, clock):
    many = row.person
    assert let_through(row, ["ana"] * (many + 5)) == many
    clock.shift(60 * row.minutes - 1)
    assert ask(row, "ana") == Limited(ask(row, "ana").rule, 1)
    clock.shift(1.01)
    assert let_through(row, ["ana"] * (many + 5)) == many
    assert not bypassed.tally.unflushed()


@each_row
def test_another_person_has_as_many(row):
    network_is_full = row.network == row.person
    assert let_through(row, ["ana"] * row.person) == row.person
    assert let_through(row, ["ben"] * row.person) == (0 if network_is_full else row.person)


@each_row
def test_a_network_has_so_many_whatever_cookies_it_brings(row, clock):
    fresh = ["" if row.fresh_cookie_helps else f"v{n}" for n in range(row.network + 5)]
    assert let_through(row, fresh) == row.network
    assert ask(row, fresh[0], ELSEWHERE) is None
    assert (ask(row, "another") is None) == row.fresh_cookie_helps
    clock.shift(60 * row.minutes + 0.01)
    assert ask(row, fresh[0]) is None


def test_every_rule_is_in_the_table():
    ruled = {limits.PAGES, *limits.INSTEAD_OF_PAGES.values(), limits.POLLS, *limits.POSTED.values()}
    told = {(each.person.most, each.network.most, each.person.within) for each in ruled}
    found = {(row.person, row.network, limits.MINUTE * row.minutes) for row in TABLE.values()}
    assert found == told
