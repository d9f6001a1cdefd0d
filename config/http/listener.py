"""Sockets of the web process, found among its open files because the server does not expose
them."""

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

# The kernel closes the connection of a client that has not read for this long.
UNREAD_FOR = 60
# The kernel buffers at most this much unsent data per reader.
UNSENT_BYTES = 256 * 1024
LOOK_EVERY, LOOK_FOR = 0.05, 60.0


def bound_readers() -> None:
    """Accepted connections inherit the options. The server opens its listening socket after it has
    loaded the application, so a thread waits for that."""
    threading.Thread(target=_bound_readers, name="listener", daemon=True).start()


def hang_up_on(clients: set[tuple[str, int]]) -> None:
    """Close the connections to these peers, even with unsent data."""
    for each in _tcp_sockets():
        with each, suppress(OSError):
            if each.getpeername()[:2] in clients:
                each.shutdown(socket.SHUT_RDWR)


def _bound_readers() -> None:
    ends_at = time.monotonic() + LOOK_FOR
    while not _set_options() and time.monotonic() < ends_at:
        time.sleep(LOOK_EVERY)


def _set_options() -> bool:
    """False if no socket listens yet. Systems other than Linux lack the options."""
    is_there = False
    for each in _tcp_sockets():
        with each, suppress(OSError, AttributeError):
            if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                is_there = True
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_FOR * 1000)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    return is_there


def _tcp_sockets() -> Iterator[socket.socket]:
    """Yields duplicates, so that an operation reaches that connection even if its descriptor has
    been reused by now."""
    for number in map(int, os.listdir("/dev/fd")):
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            each = socket.socket(fileno=os.dup(number))
        except OSError:
            # Closed meanwhile.
            continue
        if each.type == socket.SOCK_STREAM and each.family in (socket.AF_INET, socket.AF_INET6):
            yield each
        else:
            each.close()
