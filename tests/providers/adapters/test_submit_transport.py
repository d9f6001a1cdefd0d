"""What each event on the wire proves about a submit: before connect() returned it was surely not
sent, after that nothing is sure."""

import gzip
import socket

import pytest
import trustme

from providers.outcomes import Accepted, Rejected, Unknown
from tests.adapter_limits import limit_polza
from tests.providers.scripted import answer_bytes

CREATED = b'{"id": "gen_1", "status": "pending"}'
PAGE = b"<html><h1>502 Bad Gateway</h1></html>"


@pytest.fixture
def short_connect(settings):
    settings.CONNECT_TIMEOUT = 0.15


# Before connect() has returned


def assert_surely_not_sent(outcome):
    assert isinstance(outcome, Rejected)
    assert (outcome.why.kind, outcome.why.rule) == ("transport", "never_connected")


@pytest.fixture
def closed_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def full_port():
    """A port whose queue is full: further connections are neither taken nor refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
        for sock in waiting:
            sock.close()


def test_closed_port_is_surely_not_sent(submit, scheme, closed_port):
    assert_surely_not_sent(submit(f"{scheme}://127.0.0.1:{closed_port}"))


def test_connect_timeout_is_surely_not_sent(submit, scheme, full_port, short_connect):
    assert_surely_not_sent(submit(f"{scheme}://127.0.0.1:{full_port}"))


def test_unknown_host_is_surely_not_sent(submit, scheme, monkeypatch):
    def find_nothing(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", find_nothing)
    assert_surely_not_sent(submit(f"{scheme}://nowhere.test"))


@pytest.mark.parametrize("url", ["https://", "https://[::1", "gopher://host", "https://h:99999"])
def test_bad_base_url_is_surely_not_sent(submit, url):
    assert_surely_not_sent(submit(url))


@pytest.mark.parametrize("key", ["ключ", "a\nb", "a\u200bb"])
def test_key_that_no_header_can_carry_is_surely_not_sent(submit, serve, scheme, key):
    server = serve(lambda line: line.read_request(), scheme=scheme)
    assert_surely_not_sent(submit(server.url, key=key))


def answer_plainly(line):
    line.wait_for_data()
    line.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    line.hang()


def send_alert(line):
    line.wait_for_data()
    line.send(b"\x15\x03\x03\x00\x02\x02\x28")


def begin_hello(line):
    line.wait_for_data()
    line.send(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03")
    line.hang()


def drip_hello(line):
    line.drip(b"\x16\x03\x03\x40\x00" + bytes(1000), every=0.02)


def reset_unread(line):
    line.wait_for_data()
    line.reset()


def reset_at_hello(line):
    line.read_some()
    line.reset()


def close_at_hello(line):
    line.read_some()


@pytest.mark.parametrize(
    "script",
    [
        lambda line: line.hang(),
        lambda line: line.sock.close(),
        reset_unread,
        reset_at_hello,
        close_at_hello,
        answer_plainly,
        send_alert,
        begin_hello,
        drip_hello,
    ],
    ids=[
        "hang", "closed", "reset_unread", "reset_at_hello", "closed_at_hello", "plain", "alert",
        "half_hello", "drip",
    ],
)  # fmt: skip
def test_failed_handshake_is_surely_not_sent(submit, serve, short_connect, script):
    server = serve(script, scheme="https", shake=False)
    assert_surely_not_sent(submit(server.url))
    server.over.set()
    assert b"POST" not in server.all_received(connections=1)
    assert len(server.lines) == 1


def test_certificate_nobody_vouches_for_is_surely_not_sent(submit, serve, tls_of):
    stranger = tls_of("127.0.0.1", by=trustme.CA())
    server = serve(lambda line: line.read_request(), scheme="https", certificate=stranger)
    assert_surely_not_sent(submit(server.url))


def test_certificate_of_another_host_is_surely_not_sent(submit, serve, tls_of):
    server = serve(
        lambda line: line.read_request(), scheme="https", certificate=tls_of("other.test")
    )
    assert_surely_not_sent(submit(server.url))


# After connect() has returned


def after_request(act):
    def script(line):
        line.read_request()
        act(line)

    return script


def sends(payload):
    """Sends it and closes."""
    return after_request(lambda line: line.send(payload))


def sends_and_hangs(payload):
    def act(line):
        line.send(payload)
        line.hang()

    return after_request(act)


def pour_continues(line):
    while True:
        line.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def header(*lines):
    return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()


CHUNKED = header("Transfer-Encoding: chunked")
GZIPPED = gzip.compress(CREATED)

LOST = {
    "reset_unread": reset_unread,
    "reset_read": after_request(lambda line: line.reset()),
    "closed_unread": lambda line: line.wait_for_data(),
    "closed_read": after_request(lambda line: None),
    "hang_unread": lambda line: line.hang(),
    "hang_read": after_request(lambda line: line.hang()),
    "garbage": sends(b"\x00\x01\x02 what is this\r\n\r\n"),
    "empty_line": sends(b"\r\n\r\n"),
    "half_status_line": sends(b"HTTP/1.1 20"),
    "endless_status_line": sends(b"HTTP/1.1 200 " + b"x" * 70_000),
    "status_no_number": sends(b"HTTP/1.1 abc OK\r\n\r\n"),
    "stalled_headers": sends_and_hangs(b"HTTP/1.1 201 Created\r\nContent-Type: app"),
    "too_many_headers": sends(header(*[f"X-{number}: x" for number in range(200)])),
    "endless_header": sends(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000),
    "stalled_body": sends_and_hangs(header("Content-Length: 36") + CREATED[:10]),
    "no_body": sends_and_hangs(header("Content-Length: 36")),
    "cut_by_length": sends(header("Content-Length: 36") + CREATED[:10]),
    "cut_chunk": sends(CHUNKED + b"24\r\n" + CREATED[:10]),
    "no_last_chunk": sends(CHUNKED + b"23\r\n" + CREATED[:-1] + b"\r\n"),
    "bad_chunk_size": sends(CHUNKED + b"xyz\r\n" + CREATED[:-1]),
    "bad_gzip": sends(answer_bytes(201, CREATED[1:], Content_Encoding="gzip")),
    "error_cut": sends(answer_bytes(402, CREATED)[:-5]),
}
# Nothing but our own patience ends these; on a busy machine all others need more of it.
HELD = {"hang_unread", "hang_read", "stalled_headers", "stalled_body", "no_body"}


def assert_lost(outcome):
    assert isinstance(outcome, Unknown)
    assert (outcome.why.kind, outcome.why.rule) == ("transport", "lost")


@pytest.fixture(params=LOST)
def event(request, monkeypatch):
    if request.param in HELD:
        limit_polza(monkeypatch, silence_timeout=0.15)
    return request.param


def test_anything_lost_after_connect_is_unknown(submit, serve, scheme, event):
    server = serve(LOST[event], scheme=scheme)
    assert_lost(submit(server.url))
    server.over.set()
    server.all_received(connections=1)
    assert len(server.lines) == 1


def test_no_setting_makes_a_lost_answer_a_rejection(submit, serve, settings, event):
    settings.HTTP_ERRORS_REJECT = True
    assert_lost(submit(serve(LOST[event]).url))


def answers_under_tls(payload):
    return after_request(lambda line: line.send_under_tls(payload))


@pytest.mark.parametrize(
    "payload",
    [
        answer_bytes(502, PAGE),
        b"\x15\x03\x03\x00\x02\x02\x28",
        b"\x17\x03\x03\x00\x20" + b"\x55" * 32,
    ],
    ids=["plain_502", "alert", "corrupt_record"],
)
def test_what_is_no_tls_inside_tls_is_unknown(submit, serve, payload):
    assert_lost(submit(serve(answers_under_tls(payload), scheme="https").url))


def test_reset_after_the_whole_request_is_unknown_every_time(submit, serve, scheme):
    server = serve(LOST["reset_read"], scheme=scheme)
    for _ in range(20):
        assert_lost(submit(server.url))
    assert len(server.lines) == 20


# An answer came, and cannot be read


@pytest.mark.parametrize(
    "body",
    [
        b"", PAGE, b'{"id": "gen_1"', b"[1]", b"null", b'"gen_1"', b"{}", b'{"id": null}',
        b'{"id": ""}', b'{"id": true}', b'{"id": ["gen_1"]}', b'{"id": ".."}',
        b'{"id": "a\\u0000"}',
        b'{"id": "\\ud800"}', b'{"error": {"code": "X"}}', b"\xff\xfe\xfa", b"[" * 100_000,
        b'{"id": "%s"}' % (b"x" * 201),
    ],
)  # fmt: skip
@pytest.mark.parametrize("status", [200, 201])
def test_success_without_a_usable_id_is_unknown(submit, serve, status, body):
    outcome = submit(serve(sends(answer_bytes(status, body))).url)
    assert isinstance(outcome, Unknown)
    assert (outcome.why.rule, outcome.why.http) == ("unreadable", status)


def test_no_content_is_unknown(submit, serve):
    outcome = submit(serve(sends(b"HTTP/1.1 204 No Content\r\n\r\n")).url)
    assert (type(outcome), outcome.why.rule) == (Unknown, "unreadable")


# What is understood


@pytest.mark.parametrize(
    "answer",
    [
        answer_bytes(200, CREATED),
        answer_bytes(201, CREATED),
        answer_bytes(202, CREATED),
        header("Connection: close") + CREATED,
        CHUNKED + b"24\r\n" + CREATED + b"\r\n0\r\n\r\n",
        answer_bytes(201, GZIPPED, Content_Encoding="gzip"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer_bytes(201, CREATED),
        b"HTTP/1.0 201 Created\r\n\r\n" + CREATED,
    ],
    ids=["200", "201", "202", "to_the_end", "chunked", "gzip", "100_first", "http_1.0"],
)
def test_id_in_any_2xx_is_accepted(submit, serve, scheme, answer):
    assert submit(serve(sends(answer), scheme=scheme).url) == Accepted("gen_1")


@pytest.mark.parametrize(("said", "reference"), [('"aig_7/ü ?#"', "aig_7/ü ?#"), ("581", "581")])
def test_id_is_taken_as_it_is(submit, serve, said, reference):
    body = f'{{"id": {said}}}'.encode()
    assert submit(serve(sends(answer_bytes(200, body))).url) == Accepted(reference)


def test_answer_is_taken_although_the_server_stopped_reading(submit, serve):
    def answer_early(line):
        line.read_head()
        line.send(answer_bytes(201, CREATED))

    assert submit(serve(answer_early).url) == Accepted("gen_1")


def test_pouring_of_continues_ends_with_the_deadline(submit, serve, monkeypatch):
    limit_polza(monkeypatch, answer_timeout=1)
    assert_lost(submit(serve(after_request(pour_continues)).url))
