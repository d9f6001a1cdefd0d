"""No number of slow bytes outlives the total deadline, on whichever side they are slow."""

import time
from contextlib import contextmanager

import pytest

from providers.wire.http import Answer, Client, NoReply, NotSent

# A handshake must be over in time on a busy machine, or the request was not even sent.
DEADLINES = {"http": 1.0, "https": 2.0}
BODY = b'{"id": "gen_1"}'
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n"


@contextmanager
def in_time(deadline=DEADLINES["http"]):
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 5 * deadline


@pytest.fixture
def ask(serve):
    """One exchange with a scripted server within the deadline."""

    def exchange(script, scheme="http", **request):
        deadline = DEADLINES[scheme]
        with Client() as client, in_time(deadline):
            return client.exchange(
                "POST", serve(script, scheme=scheme).url, total=deadline, **request
            )

    return exchange


def drip_headers(line):
    line.read_request()
    line.drip(HEADERS + BODY)


def drip_header_without_end(line):
    line.read_request()
    line.send(b"HTTP/1.1 200 OK\r\nX: ")
    line.drip(b"x" * 1000)


def drip_body(line):
    line.read_request()
    line.send(HEADERS)
    line.drip(BODY, every=0.3)


def drip_chunks(line):
    line.read_request()
    line.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    line.drip(b"1\r\nx\r\n" * 1000)


def drip_continues(line):
    line.read_request()
    line.drip(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, every=0.01)


@pytest.mark.parametrize("script", [drip_headers, drip_body])
def test_drip_ends_at_the_total_deadline(ask, scheme, script):
    assert isinstance(ask(script, scheme), NoReply)


@pytest.mark.parametrize("script", [drip_header_without_end, drip_chunks, drip_continues])
def test_drip_without_end_ends_at_the_total_deadline(ask, script):
    assert isinstance(ask(script), NoReply)


def test_silence_ends_at_the_total_deadline(ask):
    assert isinstance(ask(lambda line: line.hang()), NoReply)


def test_request_that_nobody_reads_ends_at_the_total_deadline(ask, scheme):
    assert isinstance(ask(lambda line: line.hang(), scheme, data=b"x" * 20_000_000), NoReply)


def read_slowly(line):
    while not line.server.over.wait(0.05):
        line.read_some()


def test_request_that_is_read_slowly_ends_at_the_total_deadline(ask, scheme):
    assert isinstance(ask(read_slowly, scheme, data=b"x" * 20_000_000), NoReply)


def test_handshake_that_hangs_ends_at_the_total_deadline(serve):
    server = serve(lambda line: line.hang(), scheme="https", shake=False)
    with Client() as client, in_time():
        reply = client.exchange("POST", server.url, total=DEADLINES["http"])
    assert isinstance(reply, NotSent)


def test_slow_answer_within_the_deadline_is_read(serve):
    def drip(line):
        line.read_request()
        for byte in HEADERS + BODY:
            line.send(bytes([byte]))
        line.hang()

    with Client() as client:
        reply = client.exchange("POST", serve(drip).url, total=20)
    assert isinstance(reply, Answer)
    assert (reply.status, reply.body) == (200, BODY)


def test_large_request_is_sent_whole(serve, scheme):
    def count(line):
        line.read_request()
        line.answer(200, b"%d" % len(line.received.partition(b"\r\n\r\n")[2]))

    with Client() as client:
        reply = client.exchange(
            "POST", serve(count, scheme=scheme).url, total=20, data=b"x" * 3_000_000
        )
    assert reply.body == b"3000000"


def test_kept_connection_keeps_each_deadline_anew(serve):
    def answer_then_drip(line):
        line.read_head()
        line.answer(200, BODY)
        line.received = b""
        drip_body(line)

    server = serve(answer_then_drip)
    with Client() as client:
        assert isinstance(client.exchange("GET", server.url, total=20), Answer)
        client.keep_connection()
        with in_time():
            client.exchange("GET", server.url, total=DEADLINES["http"])
    assert len(server.lines) == 1


def test_answer_larger_than_any_answer_is_given_up(serve, monkeypatch):
    monkeypatch.setattr("providers.wire.http.MAX_ANSWER_BYTES", 1000)

    def pour(line):
        line.read_request()
        line.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000)

    with Client() as client:
        assert isinstance(client.exchange("POST", serve(pour).url, total=20), NoReply)
