"""Where PUBLIC_URL is https, every cookie is Secure and browsers are kept to https, also
where the proxy does not name the scheme."""

import pytest
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from tests.configured import use_public_url

pytestmark = pytest.mark.django_db
HSTS = "Strict-Transport-Security"


@pytest.fixture
def browser_at(settings, tmp_path):
    """A browser whose proxy passes the host on, but not the scheme."""

    def browse(public_url: str) -> Client:
        use_public_url(settings, tmp_path, public_url)
        return Client(HTTP_HOST=public_url.partition("://")[2])

    return browse


def cookies_of_a_day(browser: Client) -> dict:
    """All cookies of a visit: a theme is chosen, the person signs in and signs out."""
    found: dict = {}
    person = {"username": "ana", "password": "ana's password"}
    for address, form in (
        ("home", None),
        ("new_picture", None),
        ("set_theme", {"theme": "dark"}),
        ("sign_in", None),
        ("sign_in", person),
        ("gallery", None),
        ("sign_out", {}),
    ):
        url = reverse(address)
        response = browser.get(url) if form is None else browser.post(url, form)
        found |= {
            name: morsel for name, morsel in response.cookies.items() if morsel["max-age"] != 0
        }
    request = RequestFactory().get("/")
    storage, response = CookieStorage(request), HttpResponse()
    storage.add(20, "saved")
    storage.update(response)
    return found | dict(response.cookies.items())


@pytest.mark.parametrize(
    "public_url", ["https://studio.example.org", "https://studio.example.org:8443", "https://[::1]"]
)
def test_every_cookie_of_an_https_site_is_secure(browser_at, ana, public_url):
    found = cookies_of_a_day(browser_at(public_url))
    assert {"visitor", "theme", "sessionid", "csrftoken", "messages"} <= set(found)
    assert [name for name, morsel in found.items() if not morsel["secure"]] == []
    assert {morsel["samesite"] for morsel in found.values()} == {"Lax"}
    assert [name for name, morsel in found.items() if not morsel["httponly"]] == ["csrftoken"]


def test_cookies_of_an_http_site_come_back_by_http(browser_at, ana):
    found = cookies_of_a_day(browser_at("http://studio.example.org"))
    assert [name for name, morsel in found.items() if morsel["secure"]] == []


@pytest.mark.parametrize("address", ["/", "/nowhere", "/healthz", "/admin/", "/hooks/x/y/"])
def test_an_https_site_tells_browsers_to_stay_with_https(browser_at, address):
    said = browser_at("https://studio.example.org").get(address).headers[HSTS]
    assert said == f"max-age={30 * 86400}"


@pytest.mark.parametrize("public_url", ["http://studio.example.org", "http://localhost:8000"])
def test_an_http_site_does_not(browser_at, public_url):
    assert HSTS not in browser_at(public_url).get("/").headers


def test_a_cookie_without_the_attribute_still_names_its_visitor(browser_at):
    """One from before the site spoke https is taken as it is."""
    browser = browser_at("http://studio.example.org")
    browser.get("/")
    visitor = browser.cookies["visitor"].value
    later = browser_at("https://studio.example.org")
    later.cookies["visitor"] = visitor
    assert "visitor" not in later.get("/").cookies
