"""The sockets of the web process, which its server does not show: found among its open files."""

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

# The system closes the connection of a client whose window stays closed for so long.
UNREAD_FOR = 60
# The system keeps this much for a reader beyond what is on its way, not megabytes.
UNSENT_BYTES = 256 * 1024
LOOK_EVERY, LOOK_FOR = 0.05, 60.0


def bound_readers() -> None:
    """Every connection that is accepted inherits it. The server opens its listening socket after
    it has read the application, so a thread waits for that."""
    threading.Thread(target=_bound_readers, name="listener", daemon=True).start()


def hang_up_on(clients: set[tuple[str, int]]) -> None:
    """Ends the connections to these peers, even with data still to be written to them."""
    for each in _tcp_sockets():
        with each, suppress(OSError):
            if each.getpeername()[:2] in clients:
                each.shutdown(socket.SHUT_RDWR)


def _bound_readers() -> None:
    ends_at = time.monotonic() + LOOK_FOR
    while not _set_options() and time.monotonic() < ends_at:
        time.sleep(LOOK_EVERY)


def _set_options() -> bool:
    """False where nothing listens yet. Systems other than Linux lack the options."""
    is_there = False
    for each in _tcp_sockets():
        with each, suppress(OSError, AttributeError):
            if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                is_there = True
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_FOR * 1000)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    return is_there


def _tcp_sockets() -> Iterator[socket.socket]:
    """A duplicate of each: what is done to it is done to that very connection, even where its
    number means another one by now."""
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
