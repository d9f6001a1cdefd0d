"""What a submit, a poll, a list and a download make of every answer in the table of messages."""

import io
import json
import threading
from datetime import UTC, datetime, timedelta

import pytest

from providers.adapters import run_queries
from providers.outcomes import Accepted, Artifact, Listing, NoAnswer, Running, Unknown
from providers.wire import framing, http
from providers.wire.download import Fetched, fetch
from providers.wire.framing import parse
from tests.adapter_limits import limit_polza
from tests.fakes import png
from tests.providers.messages import ACCEPTED, WAYS, sized

SINCE = datetime(2026, 9, 21, 14, tzinfo=UTC)
HOUR = timedelta(hours=1)
LIST = json.dumps(
    {
        "items": [{"id": "gen_1", "model": "m", "createdAt": "2026-09-21T14:13:20.000Z"}],
        "meta": {"page": 1, "total": 1},
    }
).encode()
PICTURE = png()


# Nothing but our own patience ends these; on a busy machine all others need more of it.
HELD = {"length_long_open", "chunks_without_last_open"}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    if request.param in HELD:
        limit_polza(monkeypatch, silence_timeout=0.9)
    return WAYS[request.param]


def run_named(head):
    return head.split(" ")[1].rpartition("/")[2]


def answer_in(way, body):
    """The first request is answered in this way, with a body made for its path; the next ones on
    the same connection, and on others, plainly."""
    is_first = iter([True])

    def script(line):
        while True:
            line.received = b""
            line.read_request()
            if not line.received:
                return
            raw = body(run_named(line.received.decode()))
            if not next(is_first, False):
                line.send(sized(raw))
                continue
            line.send(way.build(raw))
            if way.then == "resets":
                line.reset()
            if way.then != "waits":
                return

    return script


def body_of(reference):
    """Its status word names the run."""
    return json.dumps({"id": reference, "status": f"of {reference}"}).encode()


def test_submit(submit, serve, way):
    server = serve(answer_in(way, lambda path: body_of("gen_1")))
    outcome = submit(server.url)
    if way.submit == ACCEPTED:
        assert outcome == Accepted("gen_1")
    else:
        assert (type(outcome), outcome.why.rule) == (Unknown, way.submit)
    assert len(server.lines) == 1


def test_poll(serve, poller, way):
    poll = poller(serve(answer_in(way, body_of)).url)
    answer = poll("gen_1")
    assert answer == Running("of gen_1") if way.poll else isinstance(answer, NoAnswer)


def test_poll_after_it_is_answered_for_its_own_run(serve, poller, way):
    server = serve(answer_in(way, body_of))
    poll = poller(server.url)
    poll("gen_1")
    if way.then != "waits":
        server.lines[0].closed.wait(20)
    assert poll("gen_2") == Running("of gen_2")
    assert len(server.lines) == (1 if way.keeps and way.then == "waits" else 2)


def test_list(serve, account_at, way):
    account = account_at(serve(answer_in(way, lambda path: LIST)).url)
    listing = run_queries.list_runs(account, SINCE, SINCE + HOUR)
    assert isinstance(listing, Listing if way.listing else NoAnswer)


def test_download(serve, way):
    server = serve(answer_in(way, lambda path: PICTURE))
    got = fetch(Artifact(url=f"{server.url}/f.png"), own_origins=frozenset({server.url}))
    if way.download is not None:
        assert isinstance(got, Fetched) == way.download
    if isinstance(got, Fetched):
        assert (got.width, got.height) == (8, 6)


EXACT = sized(body_of("gen_1"))


@pytest.mark.parametrize("ends", ["closed", "reset"])
def test_submit_cut_at_any_byte_is_unknown(submit, serve, ends):
    """Never another id than the whole one, and never a rejection."""
    cuts = iter(range(len(EXACT)))

    def cut(line):
        line.read_request()
        line.send(EXACT[: next(cuts)])
        if ends == "reset":
            line.reset()

    url = serve(cut).url
    outcomes = [submit(url) for _ in range(len(EXACT))]
    assert {type(outcome) for outcome in outcomes} == {Unknown}


def test_refusal_whose_head_was_cut_is_unknown(submit, serve):
    def cut(line):
        line.read_request()
        line.send(b"HTTP/1.1 402 Payment Required\r\nContent-Le")

    assert submit(serve(cut).url).why.rule == "lost"


def test_poll_cut_at_any_byte_is_no_answer(serve, poller):
    cuts = iter(range(len(EXACT)))

    def cut(line):
        line.read_head()
        line.send(EXACT[: next(cuts)])

    poll = poller(serve(cut).url)
    assert all(isinstance(poll("gen_1"), NoAnswer) for _ in range(len(EXACT)))


def test_answer_that_came_before_the_request_is_compared_too(serve, poller):
    def hasty(line):
        line.send(sized(body_of("gen_1")))
        line.hang()

    assert poller(serve(hasty).url)("gen_2") == run_queries.NO_MATCH


def test_unasked_bytes_on_a_kept_connection_end_it(serve, poller):
    may_speak, has_spoken = threading.Event(), threading.Event()

    def speak_again(line):
        line.read_head()
        line.send(sized(body_of("gen_1")))
        may_speak.wait(20)
        line.send(sized(body_of("gen_2")))
        has_spoken.set()
        line.hang()

    server = serve(speak_again, answer_in(WAYS["length"], body_of))
    poll = poller(server.url)
    poll("gen_1")
    may_speak.set()
    has_spoken.wait(20)
    assert poll("gen_2") == Running("of gen_2")
    assert len(server.lines) == 2


def test_unasked_bytes_that_tls_has_decrypted_end_a_kept_connection(serve, poller):
    """The answer fills what is read at once exactly; what follows stands in the same record."""
    room = io.DEFAULT_BUFFER_SIZE - len(sized(b"")) - 3
    padded = body_of("gen_1").ljust(room)

    def speak_on(line):
        line.read_head()
        line.send(sized(padded) + sized(body_of("gen_9")))
        line.hang()

    assert len(sized(padded)) == io.DEFAULT_BUFFER_SIZE
    server = serve(speak_on, answer_in(WAYS["length"], body_of), scheme="https")
    poll = poller(server.url)
    assert poll("gen_1") == Running("of gen_1")
    assert poll("gen_2") == Running("of gen_2")


def test_answer_that_names_two_ids_is_no_answer(submit, serve, poller):
    body = b'{"id": "gen_2", "status": "completed", "id": "gen_1"}'
    server = serve(answer_in(WAYS["length"], lambda path: body))
    assert isinstance(poller(server.url)("gen_1"), NoAnswer)
    assert submit(server.url).why.rule == "unreadable"


def test_late_answer_to_the_question_before_is_no_answer(serve, poller):
    """It arrives after the next request was sent, so that only the id tells."""

    def lag(line):
        line.read_head()
        line.send(sized(body_of("gen_1")))
        line.received = b""
        line.read_head()
        line.send(sized(body_of("gen_1")))
        line.hang()

    server = serve(lag, answer_in(WAYS["length"], body_of))
    poll = poller(server.url)
    poll("gen_1")
    assert poll("gen_2") == run_queries.NO_MATCH
    assert poll("gen_2") == Running("of gen_2")
    assert len(server.lines) == 2


def test_dripped_answer_of_a_poll_ends_at_the_deadline(serve, poller, settings):
    settings.POLL_TIMEOUT = 0.3
    poll = poller(serve(lambda line: line.drip(sized(body_of("gen_1")), every=0.02)).url)
    assert isinstance(poll("gen_1"), NoAnswer)


def test_bomb_is_given_up(serve, poller, monkeypatch):
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 10_000)
    monkeypatch.setattr(framing, "MOST_DECODED", 10_000)
    bomb = WAYS["gzip"].build(json.dumps({"id": "gen_1", "x": "y" * 10**6}).encode())
    poll = poller(serve(lambda line: line.read_head() and line.send(bomb)).url)
    assert isinstance(poll("gen_1"), NoAnswer)


def test_trailers_without_end_are_given_up(serve, poller, monkeypatch):
    monkeypatch.setattr(http, "MAX_FRAMING_BYTES", 10_000)
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 10_000)

    def pour(line):
        line.read_head()
        line.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
        while True:
            line.send(b"X: y\r\n" * 1000)

    assert isinstance(poller(serve(pour).url)("gen_1"), NoAnswer)


def test_a_head_inside_of_a_body_is_a_body():
    raw = sized(b"HTTP/1.1 404 Not Found\r\n\r\n")
    message = parse(raw)
    assert (message.status, message.is_reusable) == (200, True)
