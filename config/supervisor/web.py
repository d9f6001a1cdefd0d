"""The web child's entry point: `config.asgi`, in a worker that dies with its server and may hold
as many open pages as the machine lets it."""

import multiprocessing

from config.supervisor import limits, tether

_server = multiprocessing.parent_process()
if _server is not None and _server.pid:
    tether.tie_to(_server.pid)
limits.raise_open_files()

from config.asgi import application  # noqa: E402

__all__ = ["application"]
