"""Limits how long a response waits for its reader. A client that reads nothing holds a connection
and a part of a file in memory. It is disconnected after a while. If there are too many such
clients, the one that has stalled longest is disconnected first."""

import asyncio
from collections.abc import Sequence
from typing import Any

from config.http import listener
from config.http.bodies import App, Message, Receive, Send
from config.http.places import Place, Places
from quotas.ratelimit.client_ip import find_scope_network

# A chunk is 64 KiB (config/http/handler.py), so this requires about 1 KiB a second.
STALLED_AFTER = 60.0
# A chunk that waits this long for its reader takes a place.
PLACE_AFTER = 1.0
MOST_STALLED = 2_000
MOST_STALLED_OF_A_NETWORK = 100
HANG_UP_EVERY = 1.0


def unstalled(app: App) -> App:
    places, hang_ups = Places(MOST_STALLED, MOST_STALLED_OF_A_NETWORK), _HangUps()

    async def unstalled_app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            send = _Answer(scope, send, places, hang_ups).send
        await app(scope, receive, send)

    return unstalled_app


class _Answer:
    def __init__(self, scope: Message, send: Send, places: Places, hang_ups: "_HangUps") -> None:
        self._scope, self._send, self._places, self._hang_ups = scope, send, places, hang_ups
        self._loop = asyncio.get_running_loop()
        self._clock: asyncio.Timeout | None = None
        self._place: Place | None = None

    async def send(self, message: Message) -> None:
        """Raises CancelledError on a stalled reader, which Django treats as a disconnect."""
        if not message.get("more_body", False):
            await self._send(message)
            return
        until_place = self._loop.call_later(PLACE_AFTER, self._take_place)
        try:
            async with asyncio.timeout(STALLED_AFTER) as self._clock:
                await self._send(message)
        except TimeoutError:
            self._hang_ups.add(self._scope.get("client"))
            raise asyncio.CancelledError from None
        finally:
            until_place.cancel()
            self._clock = None
            if self._place:
                self._places.give_back(self._place)
                self._place = None

    def _take_place(self) -> None:
        self._place = self._places.take(find_scope_network(self._scope), self._lose_place)

    def _lose_place(self) -> None:
        if self._clock and not self._clock.expired():
            self._clock.reschedule(self._loop.time())


class _HangUps:
    """Closes connections that the server would keep until the client has read its buffers. One scan
    of the open files serves all clients that stalled within a second."""

    def __init__(self) -> None:
        self._clients: set[tuple[str, int]] = set()

    def add(self, client: Sequence[Any] | None) -> None:
        if not client:
            return
        if not self._clients:
            asyncio.get_running_loop().call_later(HANG_UP_EVERY, self._hang_up)
        self._clients.add((client[0], client[1]))

    def _hang_up(self) -> None:
        clients, self._clients = self._clients, set()
        asyncio.get_running_loop().run_in_executor(None, listener.hang_up_on, clients)
