"""The chosen colours are drawn by the server, on every page, without a row."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def choose(client, theme, **fields):
    return client.post("/theme", {"theme": theme, **fields})


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("address", ["/", "/gallery", "/nowhere"])
def test_the_choice_stands_on_the_page(client, theme, address):
    choose(client, theme)
    assert f'<html lang="en" data-theme="{theme}">' in client.get(address).content.decode()


def test_the_choice_stands_on_a_page_that_broke(monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError

    client = Client(raise_request_exception=False)
    choose(client, "dark")
    monkeypatch.setattr("jobs.web.views.home.own_jobs", fail)
    assert 'data-theme="dark"' in client.get("/").content.decode()


@pytest.mark.parametrize("theme", ["auto", "", '"><script>'])
def test_anything_else_leaves_it_to_the_device(client, theme):
    choose(client, "dark")
    choose(client, theme)
    assert '<html lang="en">' in client.get("/").content.decode()


def test_a_cookie_of_another_making_is_not_drawn(client):
    client.cookies["theme"] = "pink"
    assert "pink" not in client.get("/").content.decode()


def test_one_comes_back_to_where_one_was(client):
    response = choose(client, "dark", next="/gallery?show=failed")
    assert (response.status_code, response["Location"]) == (303, "/gallery?show=failed")


@pytest.mark.parametrize("address", ["https://elsewhere.test/", "//elsewhere.test", "gallery", ""])
def test_nobody_is_sent_elsewhere(client, address):
    assert choose(client, "dark", next=address)["Location"] == "/"


def test_the_button_of_the_choice_is_pressed(client):
    choose(client, "dark")
    assert 'value="dark" aria-pressed="true"' in client.get("/").content.decode()
