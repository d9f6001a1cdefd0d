"""A sender that slept past its time to send writes nothing: not a byte reaches the provider."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from urllib3.util import connection

from providers.outcomes import Accepted, Rejected

CREATED = b'{"id": "gen_1"}'
SOON = timedelta(seconds=0.3)


def take(line):
    line.read_request()
    line.answer(201, CREATED)


@pytest.fixture
def send_by():
    return datetime.now(UTC) + SOON


def handshake_late(send_by):
    """Ends the handshake when the time to send has passed."""

    def script(line):
        line.wait_for(send_by.timestamp())
        line.shake()
        take(line)

    return script


def assert_window_missed(outcome):
    assert (type(outcome), outcome.why.rule) == (Rejected, "send_window_missed")


def test_nothing_is_written_after_the_time_to_send(submit, serve, scheme):
    server = serve(take, scheme=scheme)
    assert_window_missed(submit(server.url, send_by=datetime.now(UTC) - timedelta(seconds=1)))
    assert server.all_received(connections=1) == b""


@pytest.mark.parametrize("ahead", [timedelta(minutes=1), timedelta(hours=1), timedelta(days=365)])
def test_nothing_is_written_where_the_clock_was_set_back(submit, serve, ahead):
    server = serve(take)
    assert_window_missed(submit(server.url, send_by=datetime.now(UTC) + ahead))
    assert server.all_received(connections=1) == b""


def test_time_to_send_is_checked_after_the_handshake(submit, serve, send_by):
    server = serve(handshake_late(send_by), scheme="https", shake=False)
    assert_window_missed(submit(server.url, send_by=send_by))
    assert server.all_received(connections=1) == b""


def test_time_to_send_is_checked_after_the_proxy_took_us_through(
    submit, serve, send_by, monkeypatch, tls
):
    def take_through_late(line):
        line.read_head()
        line.wait_for(send_by.timestamp())
        line.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        line.received = b""
        line.server.tls = tls
        line.shake()
        take(line)

    proxy = serve(take_through_late)
    monkeypatch.setenv("https_proxy", proxy.url)
    assert_window_missed(submit("https://provider.test", send_by=send_by))
    assert proxy.all_received(connections=1) == b""


def test_name_that_is_found_late_sends_nothing(submit, serve, send_by, monkeypatch):
    connect = connection.create_connection

    def connect_late(*args, **kwargs):
        sock = connect(*args, **kwargs)
        while time.time() < send_by.timestamp():
            time.sleep(0.01)
        return sock

    monkeypatch.setattr(connection, "create_connection", connect_late)
    server = serve(take)
    assert_window_missed(submit(server.url, send_by=send_by))
    assert server.all_received(connections=1) == b""


def test_request_in_time_is_sent(submit, serve, scheme):
    server = serve(take, scheme=scheme)
    outcome = submit(server.url, send_by=datetime.now(UTC) + timedelta(seconds=30))
    assert outcome == Accepted("gen_1")
