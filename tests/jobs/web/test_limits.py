"""The limits of requests as people meet them, through the whole stack, with the time travelled."""

from datetime import timedelta

import pytest
from django.core import signing
from django.test import Client, RequestFactory
from django.urls import get_resolver, reverse
from django_htmx.middleware import HtmxDetails

from jobs.core.models import Job
from jobs.people.visitors import COOKIE, COOKIE_SALT
from jobs.web import limits
from quotas.models import Attempt
from quotas.ratelimit import bypassed
from quotas.ratelimit.limiter import Window, limiter
from quotas.states import BypassReason
from tests.jobs.conftest import HTMX, text_of

pytestmark = pytest.mark.django_db
ADDRESS = "203.0.113.7"


def visitor_of(name: str, address: str = ADDRESS) -> Client:
    client = Client(REMOTE_ADDR=address)
    client.cookies[COOKIE] = signing.get_cookie_signer(COOKIE + COOKIE_SALT).sign(name)
    return client


def knock(path: str = "/theme", address: str = ADDRESS, many: int = 1, **headers: str) -> bool:
    """Whether the last of so many requests of somebody without a cookie is refused. They go as far
    as the limits alone: thousands of whole pages would take minutes."""
    refused = None
    for _ in range(many):
        request = RequestFactory().get(path, REMOTE_ADDR=address, headers=headers)
        request.htmx = HtmxDetails(request)
        refused = limiter().check(limits.list_windows(request))
    return refused is not None


def statuses(client: Client, many: int, path: str = "/theme", **more) -> list[int]:
    return [client.get(path, **more).status_code for _ in range(many)]


def sign_in_as(client: Client, name: str = "nobody", password: str = "wrong"):
    return client.post(reverse("sign_in"), {"username": name, "password": password})


def is_limited(response) -> bool:
    return response.status_code == 429


def test_a_visitor_has_a_hundred_pages_a_minute(clock):
    visitor = visitor_of("v1")
    assert 429 not in statuses(visitor, 100)
    refused = visitor.get("/theme")
    assert is_limited(refused)
    assert refused["Retry-After"] == "60"
    clock.shift(60.01)
    assert not is_limited(visitor.get("/theme"))


def test_addresses_to_nowhere_count_as_pages(clock):
    visitor = visitor_of("v1")
    assert statuses(visitor, 101, "/nowhere") == [404] * 100 + [429]


def test_forms_that_are_not_ours_count_as_pages(clock):
    browser = Client(enforce_csrf_checks=True, REMOTE_ADDR=ADDRESS)
    browser.cookies = visitor_of("v1").cookies
    told = [browser.post("/theme", {"theme": "dark"}).status_code for _ in range(100)]
    assert told == [403] * 100
    assert is_limited(browser.get("/theme"))


def test_a_foreign_form_is_not_shown_as_ours(clock):
    browser = Client(enforce_csrf_checks=True, REMOTE_ADDR=ADDRESS)
    browser.cookies = visitor_of("v1").cookies
    statuses(browser, 100)
    refused = browser.post("/images/new", {"prompt": "of another site"})
    assert is_limited(refused)
    assert refused["Retry-After"] == "60"
    assert "of another site" not in refused.content.decode()


def test_a_form_of_ours_from_before_a_sign_in_is_kept_too(clock):
    browser = Client(enforce_csrf_checks=True, REMOTE_ADDR=ADDRESS)
    browser.cookies = visitor_of("v1").cookies
    browser.get("/images/new", follow=True)
    statuses(browser, 100)
    refused = browser.post("/images/new", {"prompt": "A boat", "csrfmiddlewaretoken": "x" * 64})
    assert is_limited(refused)
    assert "A boat</textarea>" in refused.content.decode()


def test_two_visitors_of_one_address_have_a_window_each(clock):
    statuses(visitor_of("v1"), 101)
    assert not is_limited(visitor_of("v2").get("/theme"))


def test_a_user_is_one_person_in_every_browser(clock, ana):
    browsers = [Client(REMOTE_ADDR=f"203.0.113.{n}") for n in (1, 2)]
    for browser in browsers:
        browser.force_login(ana)
        browser.get("/")
    assert 429 not in statuses(browsers[0], 60)
    assert statuses(browsers[1], 60).count(429) == 20


def test_who_has_no_cookie_is_counted_by_address_alone(clock):
    assert not knock(many=2000)
    assert is_limited(Client(REMOTE_ADDR=ADDRESS).get("/theme"))
    assert not knock(address="203.0.113.8")
    assert not is_limited(visitor_of("v1").get("/theme"))


def test_polls_of_who_has_no_cookie_have_a_ceiling_of_their_own(clock):
    assert not knock("/", many=10_000, **HTMX)
    assert knock("/", **HTMX)
    assert not knock("/")


@pytest.mark.parametrize("cookie", ["", "x", "v1:forged", "v1:1tYx:" + "A" * 43, "é" * 999])
def test_a_forged_cookie_is_none(clock, cookie):
    browser = Client(REMOTE_ADDR=ADDRESS)
    for _ in range(101):
        browser.cookies[COOKIE] = cookie
        assert not is_limited(browser.get("/theme"))


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/jobs/00000000-0000-0000-0000-000000000000/stream"]
)
def test_health_and_streams_are_no_pages(clock, path):
    visitor = visitor_of("v1")
    statuses(visitor, 101)
    assert 429 not in statuses(visitor, 20, path)


def test_polls_have_a_rule_of_their_own(clock):
    visitor = visitor_of("v1")
    for _ in range(600):
        limiter().check([Window(limits.POLLS.person, "visitor v1")])
    assert is_limited(visitor.get("/", headers=HTMX))
    assert is_limited(visitor.get("/jobs/00000000-0000-0000-0000-000000000000/stream"))
    assert not is_limited(visitor.get("/"))


def test_a_whole_page_is_no_poll_though_htmx_asks_for_it(clock):
    back = {**HTMX, "HX-History-Restore-Request": "true"}
    assert not knock("/gallery", many=2000, **back)
    assert knock("/gallery", **back)
    assert not knock("/gallery", **HTMX)


def test_pictures_do_not_use_up_pages(clock):
    visitor = visitor_of("v1")
    path = "/images/00000000-0000-0000-0000-000000000000/small"
    assert 429 not in statuses(visitor, 200, path)
    assert not is_limited(visitor.get("/theme"))


def test_ipv6_is_counted_by_64_bits(clock, monkeypatch):
    assert not knock(address="2001:db8::1", many=2000)
    assert knock(address="2001:db8::ffff")
    assert not knock(address="2001:db8:0:1::1")


class TestSignIn:
    def test_ten_tries_a_minute_a_browser(self, clock):
        visitor = visitor_of("v1")
        told = [sign_in_as(visitor, f"name {n}").status_code for n in range(11)]
        assert told == [422] * 10 + [429]

    def test_a_fresh_cookie_for_each_try_helps_nobody(self, clock):
        told = [sign_in_as(visitor_of(f"v{n}"), f"name {n}").status_code for n in range(101)]
        assert told == [422] * 100 + [429]

    def test_one_name_from_fifty_addresses_is_stopped(self, clock):
        tries = [(visitor_of(f"v{n}", f"203.0.113.{n}"), name_of(n)) for n in range(50)]
        told = [sign_in_as(browser, name).status_code for browser, name in tries]
        assert told == [422] * 20 + [429] * 30
        clock.shift(timedelta(minutes=10, seconds=1))
        assert not is_limited(sign_in_as(visitor_of("v"), "ana"))

    def test_the_staffs_own_door_counts_with_it(self, clock):
        path = reverse("admin:login")
        told = [
            visitor_of(f"v{n}", f"203.0.113.{n}").post(path, {"username": "ana"}).status_code
            for n in range(21)
        ]
        assert told == [200] * 20 + [429]

    def test_a_refusal_tries_no_password_and_keeps_the_name(self, clock, ana):
        visitor = visitor_of("v1")
        for number in range(10):
            sign_in_as(visitor, f"name {number}")
        refused = sign_in_as(visitor, "ana", "ana's password")
        assert is_limited(refused)
        assert 'value="ana"' in refused.content.decode()
        assert "ana's password" not in refused.content.decode()
        assert "Too many requests. Try again in 60 seconds." in text_of(refused)
        assert "_auth_user_id" not in visitor.session

    def test_whether_the_account_exists_is_not_told(self, clock, ana):
        pages = []
        for name in ("ana", "nobody"):
            told = [sign_in_as(visitor_of(f"{name}{n}"), name) for n in range(21)]
            pages.append(text_of(told[-1]))
        assert pages[0] == pages[1]

    @pytest.mark.parametrize(
        ("kind", "body"),
        [
            ("text/plain", b""),
            ("application/x-www-form-urlencoded", b"username=%FF%FE"),
            ("application/x-www-form-urlencoded; charset=utf-7", b"username=ana"),
            ("application/x-www-form-urlencoded", b"a=1&" * 2000),
            ("application/x-www-form-urlencoded", b"username=" + b"a" * 2**20),
            ("multipart/form-data", b"no boundary"),
            ("multipart/form-data; boundary=x", b"--x\r\nbroken"),
            ("multipart/form-data; boundary=" + "x" * 300, b"--x"),
        ],
    )
    def test_a_body_that_cannot_be_read_counts_as_any_other(self, clock, kind, body):
        visitor, path = visitor_of("v1"), reverse("sign_in")
        told = [visitor.post(path, body, content_type=kind).status_code for _ in range(11)]
        assert set(told[:10]) <= {400, 422}
        assert told[10] == 429
        assert not bypassed.tally.unflushed()

    def test_a_name_in_a_form_of_parts_counts_too(self, clock):
        path = reverse("sign_in")
        body = b"--x\r\nContent-Disposition: form-data; name=username\r\n\r\nana\r\n--x--"
        kind = "multipart/form-data; boundary=x"
        people = [visitor_of(f"v{n}", f"203.0.113.{n}") for n in range(21)]
        told = [person.post(path, body, content_type=kind).status_code for person in people]
        assert told == [422] * 20 + [429]


def name_of(number: int) -> str:
    """One account, however it is written."""
    return ("ana", "ANA", " " * 200 + "Ana ", "\uff41na")[number % 4]


class TestOrders:
    def order(self, client: Client, **more):
        form = {"prompt": "A boat", "aspect_ratio": "1:1", "form_key": "k" * 20, "fault": "ok"}
        return client.post("/images/new", form, **more)

    def test_twenty_a_minute(self, clock, visitor_client):
        told = [self.order(visitor_client).status_code for _ in range(21)]
        assert told == [303] * 20 + [429]

    @pytest.mark.parametrize("headers", [{}, HTMX])
    def test_the_form_is_kept_as_typed_and_nothing_is_taken(self, clock, headers):
        visitor = visitor_of("v1")
        for _ in range(20):
            visitor.post("/images/new", {"prompt": ""})
        refused = self.order(visitor, headers=headers)
        assert is_limited(refused)
        assert "A boat</textarea>" in refused.content.decode()
        assert "Too many requests. Try again in 60 seconds." in text_of(refused)
        assert not Job.objects.exists()
        assert not Attempt.objects.exists()

    def test_a_fresh_cookie_for_each_helps_nobody(self, clock):
        spent = limits.ORDERS.network
        for _ in range(spent.most):
            limiter().check([Window(spent, f"network {ADDRESS}")])
        assert is_limited(self.order(visitor_of("fresh")))


class TestRefusal:
    def refused(self, method: str = "get", path: str = "/theme", *args, **more):
        visitor = visitor_of("v1")
        statuses(visitor, 100)
        return getattr(visitor, method)(path, *args, **more)

    def test_a_page_says_when_and_offers_itself_again(self, clock):
        refused = self.refused(path="/gallery?x=<b>")
        assert "Too many requests. Try again in 60 seconds." in text_of(refused)
        assert 'href="/gallery?x=%3Cb%3E"' in refused.content.decode()
        assert "429" not in text_of(refused)

    def test_what_else_was_posted_is_kept(self, clock):
        refused = self.refused("post", "/theme", {"theme": "dark"})
        assert '<input type="hidden" name="theme" value="dark">' in refused.content.decode()

    def test_what_was_sent_to_nowhere_is_not_shown_as_a_form_of_ours(self, clock):
        refused = self.refused("post", "/nowhere", {"theme": "of another site"})
        assert is_limited(refused)
        assert "of another site" not in refused.content.decode()

    @pytest.mark.parametrize("name", ["password1", "old_password", "token", "otp_code"])
    def test_no_secret_is_sent_back(self, clock, name):
        refused = self.refused("post", "/theme", {name: "of ana's"})
        assert is_limited(refused)
        assert "of ana" not in refused.content.decode()

    def test_htmx_puts_it_among_the_messages(self, clock):
        path = "/jobs/00000000-0000-0000-0000-000000000000/cancel"
        refused = self.refused("post", path, headers=HTMX)
        assert refused["HX-Retarget"] == ".messages"
        assert text_of(refused).startswith("Too many requests")

    def test_the_dashboard_is_given_no_message_it_has_no_place_for(self, clock, staff_client):
        """htmx would tell it nothing at all; so it says by itself that it is as of before."""
        staff_client.get("/")
        key = f"user {staff_client.session['_auth_user_id']}"
        for _ in range(limits.POLLS.person.most):
            limiter().check([Window(limits.POLLS.person, key)])
        refused = staff_client.get("/admin/dashboard/", headers=HTMX)
        assert is_limited(refused)
        assert "HX-Retarget" not in refused

    def test_nobody_in_between_keeps_it(self, clock):
        assert "no-store" in self.refused()["Cache-Control"]

    def test_a_webhook_is_not_counted_with_the_pages_of_its_network(self, clock):
        knock(many=2001)
        hook = Client(REMOTE_ADDR=ADDRESS).post("/hooks/polza/" + "t" * 43 + "/")
        assert hook.status_code != 429

    def test_a_cookie_buys_no_more_webhooks(self, clock):
        for _ in range(limits.WEBHOOKS.network.most):
            limiter().check([Window(limits.WEBHOOKS.network, f"network {ADDRESS}")])
        assert is_limited(visitor_of("fresh").post("/hooks/polza/" + "t" * 43 + "/"))


class TestProxies:
    """Forged, empty and missing headers behind 0, 1 and 2 proxies of our own."""

    def spend(self, header: str | None) -> None:
        assert not self.is_refused(header, many=2000)

    def is_refused(self, header: str | None, many: int = 1) -> bool:
        headers = {} if header is None else {"X-Forwarded-For": header}
        return knock(address="10.0.0.1", many=many, **headers)

    def test_without_a_proxy_the_header_is_nothing(self, clock):
        self.spend(None)
        assert self.is_refused("198.51.100.1")
        assert self.is_refused("")

    def test_behind_one_the_last_entry_counts(self, clock, settings):
        settings.TRUSTED_PROXIES = 1
        self.spend("1.1.1.1, 198.51.100.1")
        assert self.is_refused("2.2.2.2, 198.51.100.1")
        assert not self.is_refused("198.51.100.1, 198.51.100.2")

    def test_behind_two_the_last_but_one_counts(self, clock, settings):
        settings.TRUSTED_PROXIES = 2
        self.spend("1.1.1.1, 198.51.100.1, 10.0.0.9")
        assert self.is_refused("2.2.2.2, 198.51.100.1, 10.0.0.8")
        assert not self.is_refused("198.51.100.1, 198.51.100.2, 10.0.0.9")

    @pytest.mark.parametrize("proxies", [1, 2])
    @pytest.mark.parametrize("header", [None, "", " ", ",", "unknown", "a, b", "\x00", "9" * 9999])
    def test_what_says_nothing_puts_nobody_under_one_key(self, clock, settings, proxies, header):
        settings.TRUSTED_PROXIES = proxies
        assert not self.is_refused(header, many=2001)
        assert bypassed.tally.unflushed() == {BypassReason.NO_ADDRESS: 2001}

    def test_a_request_is_counted_once_as_unmeasured(self, clock, settings):
        settings.TRUSTED_PROXIES = 1
        sign_in_as(Client(), "ana")
        assert bypassed.tally.unflushed() == {BypassReason.NO_ADDRESS: 1}


def test_an_office_behind_one_address_can_work(clock):
    """200 people come without a cookie: five pages each in a minute, and a live page's polls."""
    people = [Client(REMOTE_ADDR=ADDRESS) for _ in range(200)]
    refused = 0
    for path in ("/sign-in", "/healthz", "/nowhere", "/theme", "/sign-in"):
        refused += sum(is_limited(person.get(path)) for person in people)
        refused += knock("/", many=200, **HTMX)
        clock.shift(10)
    assert refused == 0


def test_every_rule_names_an_address_there_is_or_is_to_be():
    to_come = {"sign_up", "password_reset", "second_factor", "upload"}
    named = limits.UNLIMITED | set(limits.INSTEAD_OF_PAGES) | limits.POLLED | set(limits.POSTED)
    here = {name for name in named if _exists(name)}
    assert named - here == to_come


def _exists(name: str) -> bool:
    resolver = get_resolver()
    space, _, bare = name.rpartition(":")
    names = resolver.namespace_dict["admin"][1].reverse_dict if space else resolver.reverse_dict
    return bare in {key for key in names if isinstance(key, str)}
