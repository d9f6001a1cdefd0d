"""Who is signed in: how long a page believes a cookie, and what ends that belief at once."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, get_resolver

from jobs.people import snapshots
from jobs.people.session_cache import TRUSTING, in_force
from jobs.people.snapshots import ACTED_COOKIE, COOKIE, LASTS
from jobs.web import limits
from quotas.ratelimit.limiter import Limited
from tests import rows
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued")]

ANA = {"username": "ana", "password": "ana's password"}
SECOND = timedelta(seconds=1)
# Why an address reads session and user from their rows each time. A new address fails
# `test_every_address_trusts_or_says_why_not` until it stands here or among the trusting.
NEVER = {
    "cancel_job": "a form",
    "mail_notice": "e-mail",
    "set_theme": "a form",
    "sign_in": "passwords",
    "sign_out": "a form; ends the session",
    "healthz": "asks for nobody",
    "readyz": "asks for nobody",
    "hook": "asks for nobody; forms of machines",
    "admin": "whoever may see it is asked of the database each time",
}


def addresses() -> set[str]:
    """Those of the admin, of any depth, are one."""
    found = set()
    for entry in get_resolver().url_patterns:
        if isinstance(entry, URLPattern):
            found.add(entry.name)
        elif entry.app_name:
            found.add(entry.app_name)
        else:
            found |= {inner.name for inner in entry.url_patterns}
    return found


def reads_of(client: Client, address: str, **kwargs) -> tuple[int, int]:
    """How often session and user were read for one answer."""
    with CaptureQueriesContext(connection) as caught:
        client.get(address, **kwargs)
    asked = [query["sql"] for query in caught.captured_queries]
    tables = ('FROM "django_session"', 'FROM "auth_user"')
    return tuple(sum(table in sql for sql in asked) for table in tables)


@pytest.fixture
def seen(ana_client):
    """Ana's browser, that has just looked at a page."""
    ana_client.get("/gallery")
    return ana_client


def test_the_minute_is_one():
    assert timedelta(seconds=60) == LASTS


def test_every_address_trusts_or_says_why_not():
    assert addresses() == TRUSTING | set(NEVER)
    assert not TRUSTING & set(NEVER)


class TestWithinTheMinute:
    @pytest.mark.parametrize("after", [timedelta(), LASTS - SECOND])
    @pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "htmx"])
    def test_a_page_reads_neither_session_nor_user(self, seen, clock, now, after, headers):
        clock.move_to(now + after)
        assert reads_of(seen, "/gallery", headers=headers) == (0, 0)

    def test_after_it_both_are_read_once_and_not_again(self, seen, clock, now):
        clock.move_to(now + LASTS)
        assert reads_of(seen, "/gallery") == (1, 1)
        assert reads_of(seen, "/gallery") == (0, 0)

    def test_a_look_at_the_head_alone_counts_as_well(self, ana_client):
        ana_client.head("/gallery")
        assert reads_of(ana_client, "/gallery") == (0, 0)

    def test_a_page_that_is_not_there_reads_neither(self, seen, account):
        assert reads_of(seen, "/nowhere") == (0, 0)
        assert "Sign out ana" in text_of(seen.get("/nowhere"))

    def test_nor_does_one_that_is_refused_by_a_limit(self, seen, monkeypatch):
        full = Limited(limits.PAGES.person, 7)
        monkeypatch.setattr(
            "jobs.web.middleware.limiter", lambda: SimpleNamespace(check=lambda _: full)
        )
        for address in ("/gallery", "/nowhere"):
            assert reads_of(seen, address) == (0, 0)
            assert seen.get(address).status_code == 429

    def test_the_page_is_the_same(self, ana_client, account, now):
        rows.ready(account, now)
        read, remembered = (ana_client.get("/") for _ in range(2))
        assert "Sign out ana" in text_of(remembered)
        assert text_of(read) == text_of(remembered)

    def test_a_cookie_is_set_only_by_what_read_the_rows(self, ana_client, clock, now):
        told = []
        for after in (0, 1, 59, 60, 61):
            clock.move_to(now + after * SECOND)
            told.append(COOKIE in ana_client.get("/gallery").cookies)
        assert told == [True, False, False, True, False]

    def test_the_answer_varies_by_cookie_as_with_a_session(self, seen, account, now):
        picture = rows.ready(account, now).pictures.get()
        for name in ("file", "small"):
            answer = seen.get(f"/images/{picture.pk}/{name}")
            b"".join(answer)
            assert "Cookie" in answer["Vary"]

    def test_a_clock_set_back_is_a_reason_to_read(self, seen, clock, now):
        clock.move_to(now - SECOND)
        assert reads_of(seen, "/gallery") == (1, 1)


class TestInForce:
    """What somebody else did is in force within the minute, in every browser."""

    @pytest.fixture(params=["banned", "deleted", "password", "session"])
    def end(self, request, ana):
        def end():
            if request.param == "banned":
                User.objects.filter(pk=ana.pk).update(is_active=False)
            elif request.param == "deleted":
                ana.delete()
            elif request.param == "session":
                Session.objects.all().delete()
            else:
                ana.set_password("another password")
                ana.save()

        return end

    def test_whoever_was_ended_is_out_after_a_minute(self, seen, clock, now, end):
        end()
        clock.move_to(now + LASTS)
        answer = seen.get("/gallery")
        assert not answer.wsgi_request.user.is_authenticated
        assert (answer.cookies[COOKIE].value, answer.cookies[COOKIE]["max-age"]) == ("", 0)

    @pytest.mark.parametrize("form", ["cancel", "stop-waiting", "delete"])
    def test_and_sends_nothing_within_it(self, seen, account, now, end, form):
        """Also to a page that trusts when it is looked at."""
        job = rows.queued(account, now)
        end()
        assert seen.post(f"/jobs/{job.pk}/{form}").status_code == 404

    def test_and_orders_nothing_within_it(self, seen, end):
        end()
        assert not seen.post("/images/new", {}).wsgi_request.user.is_authenticated

    def test_and_sees_no_admin_page_within_it(self, staff_client, staff):
        assert staff_client.get("/").status_code == 200
        assert staff_client.get("/admin/").status_code == 200
        User.objects.filter(pk=staff.pk).update(is_active=False)
        assert staff_client.get("/").wsgi_request.user.is_authenticated
        assert staff_client.get("/admin/").status_code == 302
        assert not staff_client.get("/").wsgi_request.user.is_authenticated

    def test_a_role_taken_away_is_seen_after_a_minute_and_in_the_admin_at_once(
        self, staff_client, staff, clock, now
    ):
        staff_client.get("/")
        User.objects.filter(pk=staff.pk).update(is_staff=False, is_superuser=False)
        assert staff_client.get("/admin/").status_code == 302
        assert "Staff" not in text_of(staff_client.get("/"))


class TestAtOnce:
    """What this browser did itself is in force at once there."""

    def test_whatever_it_sends_has_the_next_page_read_the_rows(self, seen, clock, now):
        seen.post("/theme", {"theme": "dark"})
        clock.move_to(now + SECOND)
        assert reads_of(seen, "/gallery") == (1, 1)
        assert reads_of(seen, "/gallery") == (0, 0)

    def test_staff_who_take_their_own_role_away_see_it_at_once(self, staff_client, staff, clock):
        staff_client.get("/")
        form = {"username": "staff", "is_active": "on", "date_joined_0": "2026-03-14"}
        form |= {"date_joined_1": "12:00:00", "groups": [], "user_permissions": []}
        answer = staff_client.post(f"/admin/auth/user/{staff.pk}/change/", form)
        assert answer.status_code == 302, text_of(answer)
        assert "Staff" not in text_of(staff_client.get("/"))

    def test_a_page_that_was_read_before_and_answers_late_changes_nothing(self, seen, clock, now):
        """Two tabs: the answer of the page comes after that of the form."""
        clock.move_to(now + LASTS)
        late = seen.get("/gallery").cookies[COOKIE].value
        clock.move_to(now + LASTS + SECOND)
        seen.post("/theme", {"theme": "dark"})
        seen.cookies[COOKIE] = late
        assert reads_of(seen, "/gallery") == (1, 1)

    def test_a_page_says_that_somebody_signed_in_and_out(self, client, ana):
        client.get("/")
        client.post("/sign-in", ANA)
        assert "Sign out ana" in text_of(client.get("/"))
        assert client.post("/sign-out").cookies[COOKIE].value == ""
        assert "Sign out" not in text_of(client.get("/"))

    def test_one_user_after_another_is_never_taken_for_the_first(self, seen, ben):
        seen.post("/sign-out")
        seen.post("/sign-in", {"username": "ben", "password": "ben's password"})
        assert "Sign out ben" in text_of(seen.get("/"))

    def test_signing_in_names_the_account_for_the_next_request(self, client, ana):
        answer = client.post("/sign-in", ANA)
        session_key = answer.cookies["sessionid"].value
        snapshot = snapshots.read(answer.cookies[COOKIE].value, session_key)
        assert (snapshot.user_id, snapshot.read_at) == (ana.pk, 0)

    def test_a_new_password_keeps_its_own_browser_and_ends_the_other(
        self, staff, staff_client, clock, now
    ):
        other = Client()
        other.force_login(staff)
        other.get("/")
        staff_client.get("/")
        form = {"old_password": "staff's password"}
        form |= dict.fromkeys(("new_password1", "new_password2"), "a new pass-phrase")
        assert staff_client.post("/admin/password_change/", form).status_code == 302
        assert "Sign out staff" in text_of(staff_client.get("/"))
        clock.move_to(now + LASTS)
        assert "Sign out" not in text_of(other.get("/"))


class TestHostile:
    @pytest.mark.parametrize("cookie", ["", "x", "a.b", ":", "x" * 100_000, "\xff\x00"])
    def test_garbage_is_read_past(self, ana_client, cookie):
        ana_client.cookies[COOKIE] = cookie
        assert "Sign out ana" in text_of(ana_client.get("/"))

    def test_a_snapshot_of_another_session_is_worth_nothing(self, seen, ben_client):
        ben_client.cookies[COOKIE] = seen.cookies[COOKIE].value
        assert "Sign out ben" in text_of(ben_client.get("/"))

    def test_a_snapshot_alone_signs_nobody_in(self, seen, client):
        client.cookies[COOKIE] = seen.cookies[COOKIE].value
        assert "Sign out" not in text_of(client.get("/"))

    def test_cookies_are_out_of_a_scripts_reach(self, ana_client, settings):
        settings.SESSION_COOKIE_SECURE = True
        ana_client.get("/")
        ana_client.post("/theme")
        for name in (COOKIE, ACTED_COOKIE):
            morsel = ana_client.cookies[name]
            assert all((morsel["httponly"], morsel["secure"], morsel["samesite"] == "Lax"))


def test_what_a_page_writes_to_its_session_is_added_to_what_is_there(seen, monkeypatch):
    """Nothing is overwritten by what the snapshot does not know."""
    session = seen.session
    session["kept"] = 1
    session.save()

    def missing_for(request):
        request.session["new"] = 2
        return []

    monkeypatch.setattr("jobs.web.views.home.missing_for", missing_for)
    assert reads_of(seen, "/")[1] == 0
    assert (seen.session["kept"], seen.session["new"]) == (1, 2)
    assert "Sign out ana" in text_of(seen.get("/"))


class TestSessionsInForce:
    """Asked for many at once, as Django asks for each request."""

    def test_those_that_go_on(self, ana_client, ben_client):
        keys = {client.session.session_key for client in (ana_client, ben_client)}
        assert in_force([*keys, "gone" * 8]) == keys

    @pytest.mark.parametrize("way", ["banned", "password", "expired", "foreign"])
    def test_those_that_do_not(self, ana_client, ana, now, clock, way):
        key = ana_client.session.session_key
        if way == "banned":
            User.objects.update(is_active=False)
        elif way == "password":
            ana.set_password("another")
            ana.save()
        elif way == "expired":
            clock.move_to(now + timedelta(days=15))
        else:
            Session.objects.update(session_data="nobody's")
        assert in_force([key]) == set()

    def test_two_queries_whatever_the_number(
        self, ana_client, ben_client, django_assert_num_queries
    ):
        keys = [client.session.session_key for client in (ana_client, ben_client)]
        with django_assert_num_queries(2):
            in_force(keys)
