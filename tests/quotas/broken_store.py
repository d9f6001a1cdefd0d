"""A Redis that can be taken away: a relay before the real one, with ways of its own to fail."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

# What no Redis says; "there is nothing", in place of an answer; and what a Redis in trouble says.
REPLIES = {
    "garbage": b"HTTP/1.1 200 OK\r\n\r\n<html>",
    "yes": b"+OK\r\n",
    "many": b":2\r\n",
    "nothing": b"$-1\r\n",
    "full": b"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
    "replica": b"-READONLY You can't write against a read only replica.\r\n",
    "locked": b"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
    "loading": b"-LOADING Redis is loading the dataset in memory\r\n",
    "busy": b"-BUSY Redis is busy running a script.\r\n",
}
WAYS = ("gone", "silent", "cut", "drip", *REPLIES)
BETWEEN_DROPS = 0.005


class Relay:
    """`way` is one of WAYS or "through", and may be changed at any time; connections that are open
    then follow it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._upstream = (parts.hostname or "", parts.port or 6379)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{port}{parts.path}"
        self.way = "through"
        self.asked = 0
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # A closed listener does not wake its accept() on Linux; a shut one does.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        """End what is open, as a Redis does that is killed."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._open.add(client)
        with client, suppress(OSError), socket.create_connection(self._upstream) as upstream:
            threading.Thread(target=self._answer, args=[upstream, client], daemon=True).start()
            while self.way != "gone" and (asked := client.recv(65536)):
                self.asked += 1
                if self.way == "cut":
                    break
                if self.way == "drip":
                    self._drip(client)
                    break
                if self.way == "through":
                    upstream.sendall(asked)
                client.sendall(REPLIES.get(self.way, b""))
            with suppress(OSError):
                upstream.shutdown(socket.SHUT_RDWR)
        self._open.discard(client)

    def _drip(self, client: socket.socket) -> None:
        """A byte before each read would time out, and never the end of a line: whatever becomes of
        the store meanwhile, only hanging up ends it."""
        while True:
            client.sendall(b"+")
            time.sleep(BETWEEN_DROPS)

    def _answer(self, upstream: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while answer := upstream.recv(65536):
                client.sendall(answer)


@contextmanager
def relay_to(url: str) -> Iterator[Relay]:
    relay = Relay(url)
    try:
        yield relay
    finally:
        relay.close()
