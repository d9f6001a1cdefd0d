"""What went wrong is said in one sentence, without a code or a traceback, whatever broke."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import InternalError, OperationalError
from django.test import Client

from tests.jobs.conftest import text_of


@pytest.fixture
def breaking(monkeypatch, db):
    """A browser whose next look at the gallery meets the given error in the view."""

    def arrange(error: Exception) -> Client:
        def fail(*args, **kwargs):
            raise error

        monkeypatch.setattr("jobs.web.views.gallery.own_jobs", fail)
        return Client(raise_request_exception=False)

    return arrange


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            OperationalError("attempt to write a readonly database"),
            "We cannot save anything right now.",
        ),
        (OperationalError("database or disk is full"), "We cannot save anything right now."),
        (
            InternalError("cannot execute INSERT in a read-only transaction"),
            "We cannot save anything right now.",
        ),
        (
            OperationalError("unable to open database file"),
            "We cannot reach our database right now.",
        ),
        (
            OperationalError("connection refused: secret-host:5432"),
            "We cannot reach our database right now.",
        ),
    ],
)
def test_outage_of_the_database_says_what_to_do(breaking, error, says):
    response = breaking(error).get("/gallery")
    assert response.status_code == 503
    assert response["Retry-After"] == "60"
    assert f"{says} Try again in a minute." in text_of(response)
    assert str(error) not in response.content.decode()


def test_fault_of_our_own_shows_no_trace_of_itself(breaking):
    response = breaking(ValueError("secret detail")).get("/gallery")
    shown = response.content.decode()
    assert response.status_code == 500
    assert "We logged the error for staff." in text_of(response)
    for trace in ("secret detail", "ValueError", "Traceback", "500"):
        assert trace not in shown


def test_last_page_needs_no_database(breaking, django_assert_num_queries):
    client = breaking(OperationalError("gone"))
    with django_assert_num_queries(0):
        client.get("/gallery")


def test_last_page_needs_no_manifest_of_static_files(breaking, settings):
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }
    response = breaking(ValueError()).get("/gallery")
    assert "Something went wrong" in text_of(response)


@pytest.mark.parametrize("address", ["/nothing", "/jobs/1", "/images/x/file", "/jobs/"])
def test_unknown_address_is_told_in_plain_words(client, db, address):
    response = client.get(address)
    assert response.status_code == 404
    assert "This page does not exist, or you do not have access to it." in text_of(response)
    assert "404" not in text_of(response)


def test_error_pages_ask_for_no_quota(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        client.get("/nothing")


def test_forbidden_is_told_in_plain_words(monkeypatch, client, db):
    def refuse(*args):
        raise PermissionDenied

    monkeypatch.setattr("jobs.web.views.home.own_jobs", refuse)
    response = client.get("/")
    assert response.status_code == 403
    assert "You do not have permission to see or do this." in text_of(response)


def test_wrong_host_is_told_in_plain_words(client, db):
    response = client.get("/", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert "Your browser sent something that this site cannot read." in text_of(response)
    assert "400" not in text_of(response)


def test_no_cache_in_between_may_keep_the_name_on_an_error_page(ana_client):
    response = ana_client.get("/nothing")
    assert "Sign out ana" in text_of(response)
    assert "private" in response["Cache-Control"]


def test_sign_in_is_djangos_own_and_comes_back(client, db):
    shown = client.get("/gallery").content.decode()
    assert 'href="/sign-in?next=/gallery"' in shown


def test_signing_out_is_a_form(ana_client, ana):
    assert "Sign out ana" in text_of(ana_client.get("/"))
    assert ana_client.get("/sign-out").status_code == 405
    ana_client.post("/sign-out")
    assert "Sign in" in text_of(ana_client.get("/"))


@pytest.mark.parametrize("address", ["/", "/images/new", "/gallery"])
def test_pages_have_no_inline_script_or_style(client, db, address):
    shown = client.get(address, follow=True).content.decode()
    assert "<style" not in shown
    assert " style=" not in shown
    assert " hx-on" not in shown
    assert all(" src=" in tag.partition(">")[0] for tag in shown.split("<script")[1:])
