"""Free ports of this machine's loopback."""

import socket


def free_port() -> int:
    """No other process is given it while this one lives: it stays bound, and a server that sets
    SO_REUSEADDR, as ours do, can still listen on it."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        port = kept.getsockname()[1]
        kept.detach()
    return port
