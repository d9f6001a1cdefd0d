"""What is sent in pieces is read in pieces, and a HEAD reads nothing of it."""

import asyncio
import io

import pytest
from django.core.handlers.asgi import ASGIHandler
from django.http import FileResponse, HttpResponse
from django.test import AsyncRequestFactory

from config.http import handler
from config.http.handler import Handler

CONTENT = bytes(range(256)) * 2000


class File(io.BytesIO):
    reads = 0

    def read(self, size=-1):
        self.reads += 1
        return super().read(size)


def send(monkeypatch, response, method="GET"):
    """The bodies that go out for this response of a view."""
    sent = []

    async def get_response_async(self, request):
        return response

    async def take(message):
        sent.append(message.get("body", b""))

    async def go():
        ours = Handler()
        request = AsyncRequestFactory().generic(method, "/")
        await ours.send_response(await ours.run_get_response(request), take)

    monkeypatch.setattr(ASGIHandler, "get_response_async", get_response_async)
    asyncio.run(go())
    return [body for body in sent if body]


def test_a_file_goes_out_in_pieces(monkeypatch):
    bodies = send(monkeypatch, FileResponse(File(CONTENT)))
    assert b"".join(bodies) == CONTENT
    assert max(map(len, bodies)) == 64 * 1024


@pytest.mark.django_db
def test_a_head_reads_nothing_of_a_file_and_closes_it(monkeypatch):
    file = File(CONTENT)
    response = FileResponse(file)
    assert send(monkeypatch, response, "HEAD") == []
    response.close()
    assert (file.reads, file.closed) == (0, True)


@pytest.mark.parametrize(
    ("response", "is_given_back"),
    [
        (HttpResponse(b"small"), False),
        (HttpResponse(CONTENT), True),
        (FileResponse(io.BytesIO(b"small")), True),
    ],
    ids=["small", "large", "file"],
)
def test_the_thread_is_given_back_before_anything_waits_for_a_reader(
    monkeypatch, response, is_given_back
):
    given_back = []
    monkeypatch.setattr(handler, "give_thread_back", lambda: given_back.append(True))
    send(monkeypatch, response)
    assert given_back == [True] * is_given_back
