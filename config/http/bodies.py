"""Limits the size and duration of request bodies. Django's ASGI handler writes the whole body to
disk before a view can refuse it, and the server waits for it without a timeout. So a body that is
too large, too slow or in too many chunks is refused here."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from tempfile import SpooledTemporaryFile
from typing import Any

from config.http.places import Place, Places
from quotas.ratelimit.client_ip import find_scope_network

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]

# Forms have a lower limit that leads to a page (DATA_UPLOAD_MAX_MEMORY_SIZE).
MOST_BYTES = 2 * 2**20
# Staff upload a replacement there for a picture that could not be read.
MOST_BYTES_OF_A_PICTURE = 12 * 2**20
MOST_BYTES_BELOW = {
    "/hooks/": 64 * 1024,
    "/admin/providers/call/": MOST_BYTES_OF_A_PICTURE,
}
# A small body must arrive within this time; a larger one must average this rate.
WITHIN = 30.0
LEAST_A_SECOND = 32 * 1024
# Each chunk costs a turn of the event loop, however small it is. Over a network a chunk is at least
# a packet, which holds a kilobyte. Only a hostile client sends one byte per chunk.
MOST_PIECES = 8_192
LEAST_A_PIECE = 1024
# The rest of a larger body goes to disk, since thousands may arrive at once.
MOST_IN_MEMORY = 64 * 1024
# A body that takes this long to arrive takes a place. Most arrive at once.
PLACE_AFTER = 1.0
MOST_UNFINISHED = 2_000
MOST_UNFINISHED_OF_A_NETWORK = 100

UNREADABLE = (400, b"What you sent could not be read.")
TOO_LARGE = (413, b"This is larger than what can be sent here.")
TOO_SLOW = (408, b"What you sent did not arrive in time. Send it again.")
NO_ROOM = (503, b"This cannot be taken at the moment. Send it again in a minute.")
TOO_MANY = (503, b"Too much is being sent from your network. Send it again in a moment.")


def bounded(app: App) -> App:
    places = Places(MOST_UNFINISHED, MOST_UNFINISHED_OF_A_NETWORK)

    async def bounded_app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif _stated_length(scope) > _most(scope["path"]):
            await _refuse(send, TOO_LARGE)
        else:
            with SpooledTemporaryFile(MOST_IN_MEMORY) as content:
                if await _Body(scope, receive, send, places).read_into(content):
                    await app(scope, _replay(content, receive), send)

    return bounded_app


class _Body:
    """Counts bytes, since a chunked body states no length. The application is called only with a
    complete body, because most of the cost of an unfinished one would be there."""

    def __init__(self, scope: Message, receive: Receive, send: Send, places: Places) -> None:
        self._scope, self._receive, self._send, self._places = scope, receive, send, places
        self._most = _most(scope["path"])
        self._loop = asyncio.get_running_loop()
        self._began_at = self._loop.time()
        self._bytes = self._pieces = 0
        self._lost_place = False
        self._clock: asyncio.Timeout | None = None
        self._place: Place | None = None
        self._until_place: asyncio.TimerHandle | None = self._loop.call_later(
            PLACE_AFTER, self._take_place
        )

    async def read_into(self, content: SpooledTemporaryFile[bytes]) -> bool:
        """True if the body is complete, False if it was refused."""
        try:
            while (message := await self._next_piece()) is not None:
                content.write(message.get("body", b""))
                if not message.get("more_body", False):
                    return True
        except OSError:
            await _refuse(self._send, NO_ROOM)
        finally:
            self._leave()
        return False

    def _leave(self) -> None:
        """Breaks cycles: the server closes the connection with the last reference to `receive`."""
        if self._until_place:
            self._until_place.cancel()
        if self._place:
            self._places.give_back(self._place)
        self._until_place = self._place = None

    async def _next_piece(self) -> Message | None:
        """None if the body was refused."""
        message = await self._in_time()
        if message is None:
            await _refuse(self._send, TOO_MANY if self._lost_place else TOO_SLOW)
            return None
        if message["type"] != "http.request":
            # The client disconnected or sent a malformed body. The server does not distinguish
            # these, and would respond 500 if the application sent no response.
            await _refuse(self._send, UNREADABLE)
            return None
        self._pieces += 1
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._most or self._pieces > MOST_PIECES + self._bytes // LEAST_A_PIECE:
            await _refuse(self._send, TOO_LARGE)
            return None
        return message

    async def _in_time(self) -> Message | None:
        """None on a timeout, or if the place went to another body."""
        if self._lost_place:
            return None
        due_at = self._began_at + max(WITHIN, self._bytes / LEAST_A_SECOND)
        try:
            async with asyncio.timeout_at(due_at) as self._clock:
                return await self._receive()
        except TimeoutError:
            return None
        finally:
            self._clock = None

    def _take_place(self) -> None:
        self._until_place = None
        self._place = self._places.take(find_scope_network(self._scope), self._lose_place)

    def _lose_place(self) -> None:
        self._lost_place = True
        if self._clock and not self._clock.expired():
            self._clock.reschedule(self._loop.time())


def _replay(content: SpooledTemporaryFile[bytes], receive: Receive) -> Receive:
    left = content.tell()
    content.seek(0)
    is_read = False

    async def replay() -> Message:
        nonlocal left, is_read
        if is_read:
            return await receive()
        piece = content.read(MOST_IN_MEMORY)
        left -= len(piece)
        is_read = left <= 0
        return {"type": "http.request", "body": piece, "more_body": not is_read}

    return replay


def _most(path: str) -> int:
    found = (most for start, most in MOST_BYTES_BELOW.items() if path.startswith(start))
    return next(found, MOST_BYTES)


def _stated_length(scope: Message) -> int:
    """0 if there is no valid length. The bytes are then counted."""
    stated = dict(scope["headers"]).get(b"content-length", b"")
    return int(stated) if stated.isdigit() and len(stated) < 20 else 0


async def _refuse(send: Send, answer: tuple[int, bytes]) -> None:
    """Logs nothing, since a flood of such requests could fill the disk."""
    status, says = answer
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(says)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": says})
