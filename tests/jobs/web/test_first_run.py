"""A young site says what is missing to its operator alone, and to a newcomer what to do."""

import pytest
from django.contrib.auth import get_user_model

from tests import rows
from tests.configured import set_provider_key
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

NO_STAFF = "There is no staff account yet"
NO_KEY = "No provider key is set, so the site makes test pictures only."
AT_HOME = {"SERVER_NAME": "localhost", "REMOTE_ADDR": "127.0.0.1"}


def test_at_the_machine_one_is_told_what_is_missing(client):
    shown = text_of(client.get("/", **AT_HOME))
    assert NO_STAFF in shown
    assert NO_KEY in shown


@pytest.mark.parametrize("host", ["[::1]", "[::1]:8000", "LOCALHOST", "127.0.0.1:80"])
def test_the_machine_has_several_names(client, host):
    assert NO_STAFF in text_of(client.get("/", HTTP_HOST=host, REMOTE_ADDR="::1"))


def test_behind_a_proxy_that_hides_the_public_name_nobody_is_told(client, settings):
    settings.PUBLIC_URL = "https://pictures.example"
    assert "For the operator" not in text_of(client.get("/", **AT_HOME))


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"SERVER_NAME": "pictures.example"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.7"},
        {"HTTP_FORWARDED": "for=192.0.2.7"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_stranger_is_not_told(client, settings, elsewhere):
    settings.ALLOWED_HOSTS = ["localhost", "pictures.example"]
    shown = text_of(client.get("/", **AT_HOME | elsewhere))
    assert "For the operator" not in shown


def test_a_user_who_is_no_staff_is_not_told(ana_client):
    assert "For the operator" not in text_of(ana_client.get("/"))


def test_staff_are_told_from_anywhere(staff_client):
    shown = text_of(staff_client.get("/"))
    assert NO_KEY in shown
    assert NO_STAFF not in shown


def test_staff_who_may_no_longer_sign_in_are_none(client, staff):
    get_user_model().objects.update(is_active=False)
    assert NO_STAFF in text_of(client.get("/", **AT_HOME))


def test_a_site_that_is_set_up_says_nothing(staff_client, settings):
    set_provider_key(settings, "key")
    assert "For the operator" not in text_of(staff_client.get("/"))


def test_a_site_without_a_model_says_so(staff_client, settings):
    settings.IMAGE_MODELS = []
    assert "No model is available. Name one in IMAGE_MODELS" in text_of(staff_client.get("/"))


def test_the_poll_does_not_repeat_it(client):
    assert "operator" not in text_of(client.get("/", headers=HTMX, **AT_HOME))


def test_a_newcomer_is_told_how_it_goes(client):
    shown = text_of(client.get("/"))
    assert "Describe the picture and choose its shape." in shown
    assert "only this browser can show your pictures" in shown


def test_whoever_has_a_job_is_told_no_more(ana_client, account, now):
    rows.queued(account, now)
    assert "How it works" not in text_of(ana_client.get("/"))
