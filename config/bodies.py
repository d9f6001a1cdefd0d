"""How much of a request's body is taken in. Django's ASGI handler reads all of it, onto the disk,
before any view can refuse; so what is too large is refused here, before it is read."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]

# Forms have a bound of their own within this one (DATA_UPLOAD_MAX_MEMORY_SIZE), with a page.
MOST_BYTES = 2 * 2**20
MOST_BYTES_BELOW = {"/hooks/": 64 * 1024}


def bounded(app: App) -> App:
    async def bounded_app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif _length_said(scope) > _most(scope["path"]):
            await _refuse(send)
        else:
            body = _Body(_most(scope["path"]), receive, send)
            await app(scope, body.receive, body.send)

    return bounded_app


class _Body:
    """Counts what comes, since a body in chunks says no length before. The one that is too large
    is answered here, and looks to the application like a client that left."""

    def __init__(self, most: int, receive: Receive, send: Send) -> None:
        self._left, self._receive, self._send = most, receive, send

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left >= 0:
            return message
        await _refuse(self._send)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._left >= 0:
            await self._send(message)


def _most(path: str) -> int:
    found = (most for start, most in MOST_BYTES_BELOW.items() if path.startswith(start))
    return next(found, MOST_BYTES)


def _length_said(scope: Message) -> int:
    """0 where nothing usable is said: then it is counted."""
    said = dict(scope["headers"]).get(b"content-length", b"")
    return int(said) if said.isdigit() and len(said) < 20 else 0


async def _refuse(send: Send) -> None:
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
