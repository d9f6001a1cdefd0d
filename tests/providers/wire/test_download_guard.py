"""Where a result may come from: any public https host, checked at the address really connected to,
at every hop; only an exactly configured origin may be private or plain http. Never with our key."""

import socket

import pytest

from providers.outcomes import Artifact
from providers.wire.download import DownloadRefused, Fetched, NotFetched, fetch
from tests.providers.wire.test_download import PNG

PUBLIC = "93.184.216.34"
REFUSED = DownloadRefused("address")


def give(line):
    line.read_head()
    line.answer(200, PNG)


def redirect_to(*places):
    """Sends on to each of the places, one a connection."""

    def script_for(place):
        def script(line):
            line.read_head()
            line.answer(302, b"elsewhere", Location=place)

        return script

    return [script_for(place) for place in places]


def get(url, *own):
    return fetch(Artifact(url=url), own_origins=frozenset(own))


@pytest.fixture
def host(serve, internet):
    """A https host with the name pictures.test, at the address that it claims."""
    server = serve(give, scheme="https")
    internet.put("pictures.test", server, PUBLIC)
    return server


# The address that is really connected to


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", f"::ffff:{PUBLIC}"]
)
def test_public_host_may_serve_a_result(host, internet, address):
    internet.put("pictures.test", host, address)
    assert isinstance(get("https://pictures.test/1.png"), Fetched)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255",
        "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.2.1",
        "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1",
        "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "ff0e::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a00:1::1", "2001::1",
        "2001:db8::1", "100::1",
    ],
)  # fmt: skip
def test_address_that_is_not_public_is_refused(host, internet, address):
    internet.put("pictures.test", host, address)
    assert get("https://pictures.test/1.png") == REFUSED
    assert host.all_received(connections=1) == b""


@pytest.mark.parametrize(
    "host_name", ["127.0.0.1", "localhost", "LOCALHOST", "127.1", "2130706433", "0x7f000001"]
)
def test_every_spelling_of_loopback_is_refused(serve, host_name, internet):
    server = serve(give, scheme="https")
    internet.put("127.1", server, "127.0.0.1")
    internet.put("2130706433", server, "127.0.0.1")
    internet.put("0x7f000001", server, "127.0.0.1")
    assert get(f"https://{host_name}:{server.port}/1.png") == REFUSED
    assert server.all_received(connections=1) == b""


def test_name_whose_address_changed_after_a_look_is_refused(serve, monkeypatch):
    """Rebinding: who looks first sees a public address, who connects gets loopback."""
    server = serve(give, scheme="https")
    loopback = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]
    public = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, server.port))]
    answers = [public, loopback]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: answers.pop(0))
    assert socket.getaddrinfo("pictures.test", 443) == public
    assert get("https://pictures.test/1.png") == REFUSED
    assert answers == []


def test_address_is_checked_again_at_a_second_connection(serve, internet):
    server = serve(*redirect_to("https://pictures.test/2.png"), give, scheme="https")
    internet.put("pictures.test", server, PUBLIC, "10.0.0.1")
    assert get("https://pictures.test/1.png") == REFUSED
    assert server.all_received(connections=2).count(b"GET ") == 1


def test_certificate_is_checked_at_a_public_host(serve, internet, tls_of):
    server = serve(give, scheme="https", certificate=tls_of("other.test"))
    internet.put("pictures.test", server, PUBLIC)
    assert get("https://pictures.test/1.png") == NotFetched("no_answer")


# What is not even connected to


@pytest.mark.parametrize(
    "url",
    [
        "http://pictures.test/1.png",
        "ftp://pictures.test/1.png",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "//pictures.test/1.png",
        "/1.png",
        "1.png",
        "https://",
        "https:///1.png",
        "https://[::1",
        "https://[not an address]/",
        "https://pictures.test:99999/",
        "https://pictures.test:port/",
        "https://allowed@10.0.0.1/",
        "https://allowed.test:443@10.0.0.1/",
        "https://user:password@pictures.test/1.png",
        "https://*.test/",
        "https://\u2100.test/",
        " ",
    ],
)
def test_address_that_is_none_of_a_public_https_host_is_refused(internet, url):
    assert get(url, "https://allowed.test", "http://127.0.0.1:8001") == REFUSED


def test_guard_and_connection_read_a_backslash_alike(serve, host):
    server = serve(give, scheme="https")
    assert get(f"https://127.0.0.1:{server.port}\\@pictures.test/") == REFUSED
    assert isinstance(get(f"https://pictures.test\\@127.0.0.1:{server.port}/"), Fetched)
    assert server.all_received() == b""


def test_name_nobody_knows_is_asked_again(monkeypatch):
    def find_nothing(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", find_nothing)
    assert get("https://nowhere.test/1.png") == NotFetched("no_answer")


# Own origins


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_own_origin_may_be_private(serve, scheme):
    server = serve(give, scheme=scheme)
    assert isinstance(get(f"{server.url}/1.png", server.url), Fetched)


def test_origin_of_the_settings_may_be_private(serve, settings):
    server = serve(give)
    settings.RESULT_ORIGINS = [f"{server.url}/"]
    assert isinstance(get(f"{server.url}/1.png"), Fetched)


def test_own_origin_is_the_same_in_capitals(serve):
    server = serve(give)
    url = f"HTTP://LocalHost:{server.port}/1.png"
    assert isinstance(get(url, f"http://localhost:{server.port}"), Fetched)


@pytest.mark.parametrize("own", ["https://pictures.test", "https://pictures.test:443"])
@pytest.mark.parametrize("url", ["https://pictures.test/", "https://Pictures.test:443/"])
def test_default_port_is_the_same_spelled_out(host, internet, own, url):
    internet.put("pictures.test", host, "10.0.0.1")
    assert isinstance(get(url, own), Fetched)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{other}/1.png",
        "https://127.0.0.1:{port}/1.png",
        "http://localhost:{port}/1.png",
        "http://127.0.0.1.:{port}/1.png",
        "http://x@127.0.0.1:{port}/1.png",
        "http://127.0.0.1:{port}@127.0.0.1:{other}/1.png",
        "http://127.0.0.1/1.png",
    ],
)
def test_nothing_beside_the_exact_origin_may_be_private(serve, url):
    server, other = serve(give), serve(give)
    got = get(url.format(port=server.port, other=other.port), server.url)
    assert got in (REFUSED, NotFetched("no_answer"))
    assert server.all_received() + other.all_received() == b""


# Redirects


def test_redirect_to_a_public_host_is_followed(serve, host):
    server = serve(*redirect_to("https://pictures.test/1.png"))
    assert isinstance(get(f"{server.url}/1.png", server.url), Fetched)


def test_redirect_within_the_own_origin_is_followed(serve):
    server = serve(*redirect_to("/2.png"), give)
    assert isinstance(get(f"{server.url}/1.png", server.url), Fetched)


@pytest.mark.parametrize(
    "place",
    [
        "http://127.0.0.1:{other}/1.png",
        "http://localhost:{other}/1.png",
        "https://127.0.0.1:{other}/1.png",
        "http://pictures.test/1.png",
        "//127.0.0.1:{other}/1.png",
        "file:///etc/passwd",
        "data:image/png;base64,aGk=",
    ],
)
def test_redirect_from_the_own_origin_to_another_is_refused(serve, internet, place):
    other = serve(give, scheme="https")
    server = serve(*redirect_to(place.format(other=other.port)))
    assert get(f"{server.url}/1.png", server.url) == REFUSED
    assert other.all_received() == b""


@pytest.mark.parametrize("place", ["https://127.0.0.1:{port}/", "http://pictures.test/2.png"])
def test_redirect_of_a_public_host_is_checked(serve, internet, place):
    inside = serve(give, scheme="https")
    server = serve(*redirect_to(place.format(port=inside.port)), scheme="https")
    internet.put("pictures.test", server, PUBLIC)
    assert get("https://pictures.test/1.png") == REFUSED
    assert inside.all_received() == b""


@pytest.mark.parametrize("place", ["http://[", "https://a b/", "\xe9\xff"])
def test_redirect_to_nowhere_is_no_picture(serve, place):
    server = serve(*redirect_to(place))
    assert not isinstance(get(f"{server.url}/1.png", server.url), Fetched)


def test_redirects_without_end_are_refused(serve):
    server = serve(*redirect_to("/again"))
    assert get(f"{server.url}/1.png", server.url) == DownloadRefused("too_many_redirects")
    assert len(server.lines) == 4


def test_three_redirects_are_followed(serve):
    server = serve(*redirect_to("/2", "/3", "/4"), give)
    assert isinstance(get(f"{server.url}/1.png", server.url), Fetched)


# Our key, and the environment


@pytest.fixture
def netrc(tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("default login someone password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.mark.usefixtures("netrc")
def test_no_host_is_shown_a_key(serve, host):
    server = serve(*redirect_to("https://pictures.test/1.png"))
    get(f"{server.url}/1.png", server.url)
    for received in (server.received, host.received):
        assert received.startswith(b"GET ")
        assert b"authorization" not in received.lower()


def test_result_is_never_fetched_through_a_proxy(serve, monkeypatch):
    """Behind one, the address that is checked would be the proxy's."""
    proxy, server = serve(give), serve(give)
    monkeypatch.setenv("http_proxy", proxy.url)
    assert isinstance(get(f"{server.url}/1.png", server.url), Fetched)
    assert proxy.lines == []
