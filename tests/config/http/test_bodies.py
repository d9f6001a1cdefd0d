"""What is too large is refused before it is read, whether its length is said or not."""

import asyncio
import errno
import os
import time
import tracemalloc

import pytest

from config.http import bodies
from config.http.bodies import MOST_BYTES, MOST_BYTES_BELOW, MOST_BYTES_OF_A_PICTURE, bounded
from providers.webhooks.views import MOST_BYTES as MOST_BYTES_OF_A_HOOK
from quotas.ratelimit.client_ip import find_scope_network

HOOKS = "/hooks/sandbox/token/"


def ask(path, *parts, length=None):
    """(status, bytes that the application took in, whether anything was read at all)."""
    headers = [] if length is None else [(b"content-length", str(length).encode())]
    left, sent, taken = list(parts), [], []

    async def receive():
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        message = {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            taken.append(message.get("body", b""))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    asyncio.run(bounded(app)({"type": "http", "path": path, "headers": headers}, receive, send))
    statuses = [message["status"] for message in sent if "status" in message]
    assert len(statuses) == 1
    return statuses[0], len(b"".join(taken)), len(left) < len(parts)


def test_what_says_that_it_is_too_large_is_not_read():
    assert ask(HOOKS, b"x" * 70_000, length=70_000) == (413, 0, False)


def test_what_says_nothing_is_read_up_to_the_bound():
    status, taken, _ = ask(HOOKS, *[b"x" * 40_000] * 5)
    assert (status, taken) == (413, 0)


@pytest.mark.parametrize("length", [None, 65_536])
def test_what_just_fits_is_passed_on(length):
    assert ask(HOOKS, b"x" * 32_768, b"x" * 32_768, length=length) == (200, 65_536, True)


@pytest.mark.parametrize("length", ["no number", "-1", "9" * 30])
def test_a_length_that_is_none_is_counted(length):
    assert ask(HOOKS, b"x" * 70_000, length=length)[0] == 413


def test_a_form_may_be_larger_but_not_without_end():
    assert ask("/images/new", b"x" * 70_000, length=70_000)[0] == 200
    assert ask("/images/new", b"x", length=MOST_BYTES + 1) == (413, 0, False)


def test_staff_may_send_a_picture_in_the_place_of_another():
    deliver = "/admin/providers/call/7/deliver/"
    assert ask(deliver, b"x", length=MOST_BYTES + 1)[0] == 200
    assert ask(deliver, b"x", length=MOST_BYTES_OF_A_PICTURE + 1) == (413, 0, False)


def test_a_form_within_its_own_bound_reaches_its_page(settings):
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE < MOST_BYTES


def test_the_view_has_the_same_bound():
    assert MOST_BYTES_BELOW["/hooks/"] == MOST_BYTES_OF_A_HOOK


def test_what_is_no_request_passes():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(bounded(app)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]


def hang(path="/hooks/sandbox/token/", *parts, limits, monkeypatch):
    """(status, bytes taken in) of a body that sends these parts and then no more."""
    for name, value in limits.items():
        monkeypatch.setattr(bodies, name, value)
    left, sent, taken = list(parts), [], []

    async def receive():
        if not left:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        while (message := await receive())["type"] == "http.request":
            taken.append(message["body"])

    asyncio.run(bounded(app)(scope_of(path), receive, send))
    return next(message["status"] for message in sent if "status" in message), len(b"".join(taken))


def scope_of(path, peer="192.0.2.1"):
    return {"type": "http", "path": path, "headers": [], "client": (peer, 1)}


def test_a_body_that_stops_is_refused_when_its_time_is_up(monkeypatch):
    limits = {"WITHIN": 0.05}
    assert hang(HOOKS, b"x", limits=limits, monkeypatch=monkeypatch) == (408, 0)
    assert hang(HOOKS, limits=limits, monkeypatch=monkeypatch) == (408, 0)


def test_a_large_body_has_more_time_the_more_of_it_has_come(monkeypatch):
    limits = {"WITHIN": 0.01, "LEAST_A_SECOND": 100_000}
    began = time.monotonic()
    assert hang("/images/new", b"x" * 20_000, limits=limits, monkeypatch=monkeypatch) == (
        408,
        0,
    )
    assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize("pieces", [0, 1])
def test_what_is_no_body_by_http_is_answered_as_such(pieces):
    """The server tells the application that the client left."""
    messages = [{"type": "http.request", "body": b"x", "more_body": True}] * pieces
    messages.append({"type": "http.disconnect"})
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        while (await receive())["type"] == "http.request":
            pass

    asyncio.run(bounded(app)(scope_of(HOOKS), receive, send))
    assert sent[0]["status"] == 400


def large_body(size, seen):
    """A receive that brings so many bytes, and notes the memory in use before the last piece."""
    left = [size]

    async def receive():
        left[0] -= 64 * 1024
        if left[0] <= 0:
            seen.append(tracemalloc.get_traced_memory()[0])
        return {"type": "http.request", "body": os.urandom(64 * 1024), "more_body": left[0] > 0}

    return receive


def test_a_large_body_on_its_way_is_not_kept_in_memory():
    seen, taken, size = [], [], 10 * 2**20

    async def app(scope, receive, send):
        while (message := await receive())["more_body"]:
            taken.append(len(message["body"]))
        taken.append(len(message["body"]))

    tracemalloc.start()
    scope = scope_of("/admin/providers/call/7/deliver/")
    asyncio.run(bounded(app)(scope, large_body(size, seen), None))
    tracemalloc.stop()
    assert seen[0] < size / 10
    assert sum(taken) == size


def test_a_body_that_the_disk_does_not_take_is_refused_in_words(monkeypatch):
    sent = []

    async def send(message):
        sent.append(message)

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bodies.SpooledTemporaryFile, "rollover", refuse)
    asyncio.run(bounded(None)(scope_of("/sign-in"), large_body(2**20, []), send))
    assert sent[0]["status"] == 503


def test_a_body_in_too_many_pieces_is_refused(monkeypatch):
    limits = {"MOST_PIECES": 5}
    assert hang(HOOKS, *[b"x"] * 9, limits=limits, monkeypatch=monkeypatch) == (413, 0)


def test_the_largest_picture_may_come_in_small_packets():
    packets = [b"x" * 1220] * (MOST_BYTES_OF_A_PICTURE // 1220)
    assert ask("/admin/providers/call/7/deliver/", *packets)[0] == 200


@pytest.mark.parametrize(
    ("peers", "most", "of_network", "refused"),
    [
        (["192.0.2.1"] * 5, 99, 2, [0, 1, 2]),
        (["192.0.2.1", "192.0.2.2"] * 2, 99, 1, [0, 1]),
        (["192.0.2.1", "192.0.2.2", "192.0.2.3"], 2, 9, [0]),
        (["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], 99, 1, [0]),
        (["", "", ""], 99, 1, []),
    ],
)
def test_beyond_the_places_the_oldest_gives_way(monkeypatch, peers, most, of_network, refused):
    limits = {"MOST_UNFINISHED": most, "MOST_UNFINISHED_OF_A_NETWORK": of_network}
    for name, value in {**limits, "PLACE_AFTER": 0.0, "WITHIN": 0.3}.items():
        monkeypatch.setattr(bodies, name, value)
    assert [
        n for n, status in enumerate(asyncio.run(wait_together(peers))) if status == 503
    ] == refused


async def wait_together(peers):
    """The statuses of requests that all wait for a body which does not come."""
    statuses = [0] * len(peers)

    async def ask(number, peer):
        async def send(message):
            statuses[number] = message.get("status", statuses[number])

        await bounded_app(scope_of(HOOKS, peer), lambda: asyncio.sleep(3600), send)

    async def app(scope, receive, send):
        await receive()

    bounded_app = bounded(app)
    await asyncio.gather(*(ask(number, peer) for number, peer in enumerate(peers)))
    return statuses


def test_behind_a_proxy_its_clients_are_counted_apart(settings):
    settings.TRUSTED_PROXIES = 1
    scope = scope_of(HOOKS, "10.0.0.1")
    assert find_scope_network(scope) is None
    scope["headers"] = [(b"x-forwarded-for", b"203.0.113.9"), (b"x-forwarded-for", b"192.0.2.7")]
    assert find_scope_network(scope) == "192.0.2.7"
