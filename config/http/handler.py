"""Sends a response without holding the thread and the database connection that made it.

Django keeps a thread for each request until the response is sent, and the thread keeps a pooled
connection. A slow client would hold both. So they are released before the first byte of a response
that is sent in chunks. A response of one chunk does not wait for the client.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from asgiref.sync import SyncToAsync
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.utils.http import parse_header_parameters


class Request(ASGIRequest):
    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        """Skips the charset, which `charset` ignores too. Django would parse the query to set it,
        and an exception raised here has no handler."""
        self.content_type, self.content_params = parse_header_parameters(
            meta.get("CONTENT_TYPE", "")
        )


class Handler(ASGIHandler):
    request_class = Request

    async def run_get_response(self, request: HttpRequest) -> HttpResponseBase:
        response = await super().run_get_response(request)
        if request.method == "HEAD" and isinstance(response, StreamingHttpResponse):
            response.streaming_content = iter(())
        return response

    async def send_response(self, response: HttpResponseBase, send: Any) -> None:
        if isinstance(response, StreamingHttpResponse):
            give_thread_back()
            _read_in_pieces(response)
        elif isinstance(response, HttpResponse) and len(response.content) > self.chunk_size:
            give_thread_back()
        await super().send_response(response, send)


def give_thread_back() -> None:
    """Uses asgiref's internal table of threads, since asgiref has no function for this."""
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor = SyncToAsync.context_to_thread_executor.pop(context, None) if context else None
    if executor:
        executor.submit(connections.close_all)
        executor.shutdown(wait=False)


def _read_in_pieces(response: StreamingHttpResponse) -> None:
    """Django would read a whole file before it sends the first byte."""
    content = response.streaming_content
    if isinstance(content, Iterator):
        response.streaming_content = _pieces(content)


async def _pieces(content: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, content, None)) is not None:
        yield piece
