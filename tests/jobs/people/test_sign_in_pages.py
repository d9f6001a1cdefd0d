"""Signing in by the pages: where it leads, and who sees what afterwards."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from jobs.core.models import Job
from jobs.people.sign_in import bring_along
from jobs.people.visitors import COOKIE
from tests import rows
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued")]

ANA = {"username": "ana", "password": "ana's password"}


# The page


@pytest.fixture
def page(client, ana):
    """Ana's browser before she signs in; the first look gives it a visitor's id."""
    client.get("/")
    return client


def test_page_leads_to_where_one_came_from(page):
    answer = page.post("/sign-in", {**ANA, "next": "/gallery"})
    assert (answer.status_code, answer["Location"]) == (302, "/gallery")


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example/", "/sign-in", ""])
def test_page_leads_to_no_other_site_and_not_to_itself(page, address):
    assert page.post("/sign-in", {**ANA, "next": address})["Location"] == "/"
    assert page.get("/sign-in", {"next": address})["Location"] == "/"


@pytest.mark.parametrize(
    "sent",
    [
        {"username": "ana", "password": "wrong"},
        {"username": "nobody", "password": "wrong"},
        {"username": "gone", "password": "gone's password"},
    ],
    ids=["password", "name", "switched off"],
)
def test_page_gives_no_hint_whether_the_name_exists(page, sent):
    get_user_model().objects.create_user("gone", password="gone's password", is_active=False)
    answer = page.post("/sign-in", sent)
    assert answer.status_code == 422
    errors = re.findall(r"<li><a href=\"#id_username\">([^<]+)</a></li>", answer.content.decode())
    assert errors == ["Incorrect username or password."]


def test_page_says_what_is_missing_and_keeps_the_name(page):
    shown = page.post("/sign-in", {"username": "ana", "password": ""}).content.decode()
    assert '<a href="#id_password">Enter your password.</a>' in shown
    assert 'id="id_password_error"' in shown
    assert 'value="ana"' in shown
    assert shown.count("autofocus") == 1


def test_page_lets_password_managers_help(page):
    shown = page.get("/sign-in").content.decode()
    assert 'autocomplete="username"' in shown
    assert 'autocomplete="current-password"' in shown


def test_no_page_offers_sign_up(page):
    for address in ("/", "/sign-in", "/images/new", "/gallery"):
        assert "sign up" not in text_of(page.get(address)).lower()


def test_visitors_are_led_to_the_page_and_users_out(page):
    assert 'href="/sign-in?next=/gallery"' in page.get("/gallery").content.decode()
    page.post("/sign-in", ANA)
    shown = page.get("/gallery").content.decode()
    assert "/sign-in" not in shown
    assert 'action="/sign-out"' in shown


# The browser's id


def visitor_of(client: Client) -> str:
    return client.cookies[COOKIE].value


def test_signing_in_brings_along_what_the_browser_did(visitor_client, visitor, account, now):
    job = rows.ready(visitor, now)
    visitor_client.post("/sign-in", ANA)
    assert visitor_client.get(f"/jobs/{job.pk}").status_code == 200
    assert "9 of 10 slots left today" in text_of(visitor_client.get("/"))


def test_staff_bring_it_along_by_their_own_page_too(visitor_client, visitor, staff, now):
    job = rows.ready(visitor, now)
    before = visitor_of(visitor_client)
    login = {"username": "staff", "password": "staff's password", "next": "/admin/"}
    visitor_client.post("/admin/login/", login)
    assert visitor_client.get(f"/jobs/{job.pk}").status_code == 200
    assert visitor_of(visitor_client) != before


def test_a_wrong_password_moves_nothing(visitor_client, visitor, account):
    visitor_client.post("/sign-in", {**ANA, "password": "wrong"})
    visitor.refresh_from_db()
    assert visitor.closed_at is None


def test_after_signing_out_the_browser_is_somebody_new(visitor_client, visitor, account, now):
    rows.ready(visitor, now)
    ids = [visitor_of(visitor_client)]
    visitor_client.post("/sign-in", ANA)
    ids.append(visitor_of(visitor_client))
    visitor_client.post("/sign-out")
    ids.append(visitor_of(visitor_client))
    assert len(set(ids)) == 3
    assert "3 of 3 slots left today" in text_of(visitor_client.get("/"))
    assert "a fox" not in text_of(visitor_client.get("/gallery"))


@pytest.fixture
def stale_client(visitor_client, visitor, account, now):
    """A browser whose id was spent by a sign-in that it has not heard of."""
    bring_along(visitor=visitor.visitor, user=account.user, now=now)
    return visitor_client


def test_who_comes_with_a_spent_id_is_somebody_new(stale_client):
    spent = visitor_of(stale_client)
    assert "3 of 3 slots left today" in text_of(stale_client.get("/"))
    assert visitor_of(stale_client) != spent


def test_form_of_a_spent_id_is_refused_with_its_text(stale_client):
    fields = {"prompt": "a fox", "aspect_ratio": "1:1", "form_key": "k" * 20}
    answer = stale_client.post("/images/new", fields)
    assert answer.status_code == 409
    assert "a fox</textarea>" in answer.content.decode()
    assert "You opened this form before you signed in. Send it again." in text_of(answer)
    assert not Job.objects.exists()
    assert stale_client.post("/images/new", fields).status_code == 303


def test_form_opened_before_signing_in_is_the_users_order(visitor_client, account):
    fields = {"prompt": "a fox", "aspect_ratio": "1:1", "form_key": "k" * 20}
    visitor_client.post("/sign-in", ANA)
    assert visitor_client.post("/images/new", fields).status_code == 303
    assert Job.objects.get().account == account


def test_form_sent_before_and_after_signing_in_is_one_job(visitor_client, account):
    fields = {"prompt": "a fox", "aspect_ratio": "1:1", "form_key": "k" * 20}
    first = visitor_client.post("/images/new", fields)["Location"]
    visitor_client.post("/sign-in", ANA)
    assert visitor_client.post("/images/new", fields)["Location"] == first
    assert Job.objects.get().account == account


# A form that was open while its sender signed in: the sign-in changes the token of every form

FIELDS = {"prompt": "a fox", "aspect_ratio": "1:1", "form_key": "k" * 20}


@pytest.fixture
def strict(ana) -> Client:
    """A browser whose forms are checked for their token."""
    return Client(enforce_csrf_checks=True)


def token_in(response) -> str:
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', response.content.decode())[1]


@pytest.fixture
def stale_token(strict) -> str:
    """Of a form opened before ana signed in by another tab."""
    form = strict.get("/images/new?form=0123456789abcdef")
    token = token_in(form)
    strict.post("/sign-in", ANA | {"csrfmiddlewaretoken": token})
    return token


@pytest.mark.parametrize(("headers", "status"), [({}, 403), (HTMX, 409)], ids=["page", "htmx"])
def test_stale_form_is_shown_again_with_its_text(strict, stale_token, headers, status):
    fields = FIELDS | {"csrfmiddlewaretoken": stale_token}
    answer = strict.post("/images/new", fields, headers=headers)
    assert answer.status_code == status
    assert "a fox</textarea>" in answer.content.decode()
    assert (
        "This form is out of date. You may have signed in or out since you opened it. "
        "Send it again."
    ) in text_of(answer)
    assert not Job.objects.exists()
    again = strict.post("/images/new", FIELDS | {"csrfmiddlewaretoken": token_in(answer)})
    assert again.status_code == 303
    assert Job.objects.get().account.user.username == "ana"


def test_form_of_another_site_is_not_shown_as_one_of_ours(strict, stale_token):
    fields = FIELDS | {"csrfmiddlewaretoken": stale_token}
    answer = strict.post("/images/new", fields, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "a fox" not in answer.content.decode()


def test_other_stale_forms_say_what_to_do(strict, stale_token):
    answer = strict.post("/theme", {"theme": "dark", "csrfmiddlewaretoken": stale_token})
    assert answer.status_code == 403
    assert "Go back, reload the page and send the form again." in text_of(answer)
