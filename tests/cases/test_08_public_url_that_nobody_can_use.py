"""A host name beyond ASCII and an IPv6 address work wherever an address is set, or one line refuses
them."""

import re

import pytest
import requests
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from config.supervisor import banner
from jobs.notifications import mailing
from tests.configured import read_settings, use_public_url
from tests.site_process import Site

# PUBLIC_URL, and the Host that a browser sends there.
PUBLIC_URLS = [
    ("https://студия.рф", "xn--d1aizef8e.xn--p1ai"),
    ("https://СТУДИЯ.рф:443/", "xn--d1aizef8e.xn--p1ai"),
    ("https://xn--d1aizef8e.xn--p1ai", "xn--d1aizef8e.xn--p1ai"),
    ("http://straße.example:8000", "xn--strae-oqa.example:8000"),
    ("https://☕.example", "xn--53h.example"),
    ("https://studio.example.", "studio.example"),
    ("https://ｓtudio。example", "studio.example"),
    ("HTTPS://Studio.EXAMPLE", "studio.example"),
    ("http://[2001:db8::5]:8000", "[2001:db8::5]:8000"),
    ("http://[2001:0DB8:0:0::5]:8000", "[2001:db8::5]:8000"),
    ("http://[::ffff:192.0.2.1]", "[::ffff:c000:201]"),
    ("http://192.0.2.1:80", "192.0.2.1"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("public_url", "host"), PUBLIC_URLS)
def test_pages_and_forms_work_at_the_public_address(settings, tmp_path, public_url, host):
    use_public_url(settings, tmp_path, public_url)
    client = Client(enforce_csrf_checks=True, HTTP_HOST=host)
    page = client.get("/")
    assert page.status_code == 200
    [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)) or [""]
    # As behind a proxy with TLS that does not name the scheme.
    form = {"csrfmiddlewaretoken": token or client.cookies["csrftoken"].value, "theme": "dark"}
    origin = f"{public_url.lower().partition(':')[0]}://{host}"
    assert client.post("/theme", form, HTTP_ORIGIN=origin).status_code in (302, 303)


@pytest.mark.parametrize(("public_url", "host"), PUBLIC_URLS)
def test_providers_are_told_the_same_address(tmp_path, public_url, host):
    told = read_settings(tmp_path, PUBLIC_URL=public_url)["PUBLIC_URL"]
    assert told.partition("://")[2] == host


@pytest.mark.parametrize(
    "public_url",
    [
        "http://2001:db8::5:8000",
        "http://[fe80::1%eth0]:8000",
        "http://[2001:db8::5",
        "http://[v1.host]",
        "https://*.example.org",
        "https://.example.org",
        "https://studio..org",
        "https://my_studio.example.org",
        "https://-studio.example.org",
        "https://xn--zzzzzz",
        "https://xn--abc-.org",
        "https://a\u200db.example",
        "https://\u0301a.example",
        "https://" + "a" * 64 + ".example",
        "https://" + "a.aa." * 60 + "example",
        "https://127.1",
        "https://0x7f000001",
        "https://010.0.0.1",
        "https://300.0.0.1",
        "https://0.0.0.0:8000",
        "https://[::]",
        "https://studio%2eorg",
        "https://studio.org:0",
        "https://studio.org:99999",
        "https://studio.org:80a",
        "https://studio.org:٨٠",
        "https://studio .org",
        "https://studio.org\\x",
        "https:///studio.org",
        "https:studio.org",
        "studio.org",
        "//studio.org",
        "ftp://studio.org",
        "redis://studio.org",
    ],
)
def test_an_address_that_nobody_can_use_is_refused_in_one_line(tmp_path, public_url):
    with pytest.raises(ImproperlyConfigured, match=r"^PUBLIC_URL[^\n]+$"):
        read_settings(tmp_path, PUBLIC_URL=public_url)


@pytest.mark.parametrize(
    ("setting", "value", "read"),
    [
        ("HOST", "[2001:db8::5]", "2001:db8::5"),
        ("HOST", "2001:0db8::0005", "2001:db8::5"),
        ("HOST", "LOCALHOST", "localhost"),
        ("HOST", "студия.рф", "xn--d1aizef8e.xn--p1ai"),
        ("SANDBOX_URL", "http://[::1]:8001", "http://[::1]:8001"),
        ("SANDBOX_URL", "http://my_sandbox:8001", "http://my_sandbox:8001"),
        ("RESULT_ORIGINS", "http://файлы.рф:80/", ["http://xn--80asg7a0b.xn--p1ai"]),
        ("ALERT_URL", "https://комната.рф/té/", "https://xn--80aa2aife5a.xn--p1ai/t%C3%A9/"),
        ("EMAIL_HOST", "почта.рф", "xn--80a1acny.xn--p1ai"),
        (
            "REDIS_URL",
            "redis://:w%20rd@редис.рф:6379/1",
            "redis://:w%20rd@xn--d1abk3ai.xn--p1ai:6379/1",
        ),
    ],
)
def test_every_other_address_is_read_alike(tmp_path, setting, value, read):
    sender = {"DEFAULT_FROM_EMAIL": "studio@example.org"} if setting == "EMAIL_HOST" else {}
    assert read_settings(tmp_path, **{setting: value}, **sender)[setting] == read


def test_the_address_of_a_provider_is_read_alike(tmp_path):
    accounts = read_settings(tmp_path, POLZA_BASE_URL="https://шлюз.рф/api/")["PROVIDER_ACCOUNTS"]
    assert accounts["polza"].base_url == "https://xn--g1ah2bza.xn--p1ai/api"


@pytest.mark.parametrize(
    "host",
    ["*", ".example.org", "localhost:8000", "http://localhost", "a b", "fe80::1%lo", "1.2.3", "0"],
)
def test_a_host_that_cannot_be_listened_on_is_refused(tmp_path, host):
    with pytest.raises(ImproperlyConfigured, match=r"^HOST must be [^\n]+$"):
        read_settings(tmp_path, HOST=host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]"])
def test_to_listen_everywhere_lets_in_no_other_name(tmp_path, host):
    configured = read_settings(tmp_path, HOST=host)
    assert configured["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]


def test_a_further_account_is_read_like_the_first(tmp_path):
    configured = read_settings(
        tmp_path, MORE_PROVIDERS="second=polza", SECOND_BASE_URL="https://шлюз.рф"
    )
    assert configured["PROVIDER_ACCOUNTS"]["second"].base_url == "https://xn--g1ah2bza.xn--p1ai"


def test_mail_from_an_ipv6_site_has_a_valid_id(settings):
    settings.PUBLIC_URL = "http://[2001:db8::5]:8000"
    assert mailing.headers("x")["Message-ID"] == "<x@[IPv6:2001:db8::5]>"


@pytest.mark.parametrize(
    ("host", "printed"),
    [("2001:db8::5", "http://[2001:db8::5]:8000"), ("::", "http://localhost:8000")],
)
def test_the_banner_prints_an_address_that_can_be_opened(settings, host, printed):
    settings.HOST, settings.PORT, settings.PUBLIC_URL = host, 8000, ""
    assert banner.addresses() == printed


@pytest.mark.site
def test_a_site_on_an_ipv6_address_answers_at_what_it_prints(tmp_path):
    site = Site(tmp_path, HOST="::1", PUBLIC_URL="http://студия.рф", TRUSTED_PROXIES="0")
    try:
        site.start()
        [printed] = re.findall(r"Counterfoil is running at (\S+) and", site.logs())
        assert requests.get(printed, timeout=20).status_code == 200
        public = {"Host": "xn--d1aizef8e.xn--p1ai"}
        assert requests.get(printed, headers=public, timeout=20).status_code == 200
    finally:
        site.stop()
