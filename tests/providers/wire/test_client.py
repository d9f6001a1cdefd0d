"""What a client does not do: follow, repeat, or show a key to anyone but the provider."""

import logging
import time
from datetime import UTC, datetime, timedelta

import pytest
from urllib3 import PoolManager

from providers.adapters.polza.adapter import Polza
from providers.adapters.sandbox import SandboxPolza
from providers.outcomes import Accepted, NoAnswer, Rejected, Running, Unknown
from providers.wire.http import Client, NotSent
from tests.adapter_limits import limit_polza

CREATED = b'{"id": "gen_1", "status": "pending"}'


def take(line):
    line.read_request()
    line.answer(201, CREATED)


def header_of(received, name):
    """Every value of a header of the request."""
    lines = received.partition(b"\r\n\r\n")[0].decode().splitlines()[1:]
    pairs = [line.partition(": ") for line in lines]
    return [value for said, _, value in pairs if said.lower() == name.lower()]


@pytest.fixture
def netrc(tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("default login someone password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.mark.usefixtures("netrc")
def test_netrc_does_not_replace_our_key(submit, serve):
    server = serve(take)
    submit(server.url)
    assert header_of(server.received, "Authorization") == ["Bearer the-key"]


@pytest.mark.usefixtures("netrc")
def test_netrc_does_not_replace_the_key_of_a_poll(serve):
    server = serve(take)
    Polza(name="polza", base_url=server.url, key="the-key").poll("gen_1", "google/model")
    assert header_of(server.received, "Authorization") == ["Bearer the-key"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(submit, serve, status):
    elsewhere = serve(take)

    def redirect(line):
        line.read_request()
        line.answer(status, b"", Location=elsewhere.url)

    outcome = submit(serve(redirect).url)
    assert (type(outcome), outcome.why.rule) == (Unknown, "redirected")
    assert elsewhere.lines == []


def test_body_of_a_redirect_is_not_read_without_end(serve):
    def pour(line):
        line.read_request()
        line.send(b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n")
        while True:
            line.send(b"x" * 65536)

    with Client() as client, client.open("GET", serve(pour).url, total=20) as response:
        assert response.status_code == 302


@pytest.mark.parametrize("location", ["http://[", "//", "http://a b/", "\xff\xfe"])
def test_broken_redirect_is_still_an_answer(submit, serve, location):
    def redirect(line):
        line.read_request()
        line.answer(302, b"", Location=location)

    assert submit(serve(redirect).url).why.rule == "redirected"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_no_status_is_tried_again(submit, serve, status):
    def refuse(line):
        line.read_request()
        line.answer(status, b"", Retry_After="0")

    server = serve(refuse)
    submit(server.url)
    assert len(server.lines) == 1


def test_each_submit_takes_a_connection_of_its_own(submit, serve):
    def keep_open(line):
        take(line)
        line.hang()

    server = serve(keep_open)
    assert [submit(server.url), submit(server.url)] == [Accepted("gen_1")] * 2
    assert len(server.lines) == 2


def test_polls_keep_their_connection(serve, poller):
    def answer_on(line):
        while line.read_head():
            line.received = b""
            line.answer(200, CREATED)

    server = serve(answer_on)
    poll = poller(server.url)
    assert [poll("gen_1"), poll("gen_1")] == [Running("pending")] * 2
    assert len(server.lines) == 1


def test_poll_survives_a_kept_connection_that_was_closed(serve, poller):
    def answer_once(line):
        line.read_head()
        line.answer(200, CREATED)

    server = serve(answer_once)
    poll = poller(server.url)
    poll("gen_1")
    server.lines[0].closed.wait(20)
    assert poll("gen_1") == Running("pending")


# Through a proxy of the environment


def refuse_tunnel(line):
    line.read_head()
    line.answer(403, b"<html>Forbidden</html>")


def garble_tunnel(line):
    line.read_head()
    line.send(b"what is this\r\n\r\n")


def drip_tunnel(line):
    line.read_head()
    line.drip(b"HTTP/1.1 200 Connection established\r\nX: " + b"x" * 1000, every=0.02)


def open_tunnel(line, tls):
    line.read_head()
    line.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
    line.server.tls = tls
    line.shake()
    line.received = b""


@pytest.mark.parametrize(
    "script",
    [
        refuse_tunnel,
        garble_tunnel,
        drip_tunnel,
        lambda line: line.reset(),
        lambda line: line.read_head(),
        lambda line: line.hang(),
    ],
    ids=["refused", "garbage", "drip", "reset", "closed", "hang"],
)
def test_tunnel_that_never_opened_is_surely_not_sent(submit, serve, monkeypatch, script):
    limit_polza(monkeypatch, answer_timeout=1)
    proxy, started = serve(script), time.monotonic()
    monkeypatch.setenv("https_proxy", proxy.url)
    outcome = submit("https://provider.test")
    assert time.monotonic() - started < 5
    assert (type(outcome), outcome.why.rule) == (Rejected, "never_connected")
    proxy.over.set()
    assert b"the-key" not in proxy.all_received(connections=1)


def test_proxy_that_cannot_be_reached_is_surely_not_sent(submit, scheme, monkeypatch):
    monkeypatch.setenv(f"{scheme}_proxy", "http://127.0.0.1:1")
    outcome = submit(f"{scheme}://provider.test")
    assert (type(outcome), outcome.why.rule) == (Rejected, "never_connected")


def test_submit_goes_through_the_tunnel_of_the_environment(submit, serve, monkeypatch, tls):
    def through(line):
        open_tunnel(line, tls)
        take(line)

    proxy = serve(through)
    monkeypatch.setenv("https_proxy", proxy.url)
    assert submit("https://provider.test") == Accepted("gen_1")
    assert header_of(proxy.received, "Authorization") == ["Bearer the-key"]


def test_interim_answers_of_a_proxy_are_skipped(submit, serve, monkeypatch, tls):
    def through(line):
        line.read_head()
        line.send(b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n")
        open_tunnel(line, tls)
        take(line)

    monkeypatch.setenv("https_proxy", serve(through).url)
    assert submit("https://provider.test") == Accepted("gen_1")


def test_plain_submit_goes_through_the_proxy_of_the_environment(submit, serve, monkeypatch):
    proxy = serve(take)
    monkeypatch.setenv("http_proxy", proxy.url)
    assert submit("http://provider.test") == Accepted("gen_1")
    assert proxy.received.startswith(b"POST http://provider.test/api/v1/media HTTP/1.1\r\n")


def test_reset_inside_an_open_tunnel_is_unknown(submit, serve, monkeypatch, tls):
    def reset(line):
        open_tunnel(line, tls)
        line.read_request()
        line.reset()

    monkeypatch.setenv("https_proxy", serve(reset).url)
    outcome = submit("https://provider.test")
    assert (type(outcome), outcome.why.rule) == (Unknown, "lost")


def test_error_page_of_a_proxy_for_a_plain_submit_is_unknown(submit, serve, monkeypatch):
    def fail(line):
        line.read_request()
        line.answer(502, b"<html>cannot reach it</html>")

    monkeypatch.setenv("http_proxy", serve(fail).url)
    assert submit("http://provider.test").why.rule == "gateway_error"


def test_proxy_is_bypassed_where_the_environment_says_so(submit, serve, monkeypatch):
    proxy, server = serve(take), serve(take)
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    submit(server.url)
    assert (len(proxy.lines), len(server.lines)) == (0, 1)


def test_socks_proxy_is_refused_rather_than_passed_by(monkeypatch, serve):
    server = serve(take)
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    # As if the library for it were installed.
    monkeypatch.setattr("requests.adapters.SOCKSProxyManager", lambda *_, **__: PoolManager())
    with Client() as client:
        assert isinstance(client.exchange("GET", server.url, total=5), NotSent)
    assert server.lines == []


def test_sandbox_is_never_asked_through_a_proxy(serve, monkeypatch, picture_request):
    proxy, server = serve(take), serve(take)
    monkeypatch.setenv("http_proxy", proxy.url)
    sandbox = SandboxPolza(name="sandbox", base_url=server.url, key="sandbox")
    sandbox.submit(picture_request, send_by=datetime.now(UTC) + timedelta(seconds=30))
    sandbox.poll("gen_1", "google/model")
    assert (len(proxy.lines), len(server.lines)) == (0, 2)


# The log


def test_no_key_and_no_prompt_reach_the_log_or_the_reason(submit, serve, scheme, caplog):
    caplog.set_level(logging.DEBUG)
    outcomes = [
        submit(serve(lambda line: line.wait_for_data(), scheme=scheme).url),
        submit(serve(take, scheme=scheme).url),
        submit("http://127.0.0.1:1/?key=the-key"),
    ]
    said = caplog.text + repr(outcomes)
    assert "the-key" not in said
    assert "a fox in fog" not in said


def test_lost_poll_is_no_answer(serve):
    def lose(line):
        line.read_head()
        line.reset()

    polza = Polza(name="polza", base_url=serve(lose).url, key="the-key")
    assert isinstance(polza.poll("gen_1", "google/model"), NoAnswer)
