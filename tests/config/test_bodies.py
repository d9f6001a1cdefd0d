"""What is too large is refused before it is read, whether its length is said or not."""

import asyncio

import pytest

from config.bodies import MOST_BYTES, MOST_BYTES_BELOW, bounded
from providers.views import MOST_BYTES as MOST_BYTES_OF_A_HOOK

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
    assert (status, taken) == (413, 40_000)


@pytest.mark.parametrize("length", [None, 65_536])
def test_what_just_fits_is_passed_on(length):
    assert ask(HOOKS, b"x" * 32_768, b"x" * 32_768, length=length) == (200, 65_536, True)


@pytest.mark.parametrize("length", ["no number", "-1", "9" * 30])
def test_a_length_that_is_none_is_counted(length):
    assert ask(HOOKS, b"x" * 70_000, length=length)[0] == 413


def test_a_form_may_be_larger_but_not_without_end():
    assert ask("/images/new", b"x" * 70_000, length=70_000)[0] == 200
    assert ask("/images/new", b"x", length=MOST_BYTES + 1) == (413, 0, False)


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
