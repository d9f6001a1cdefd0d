"""The web child's entry point: `config.asgi`, in a worker that dies with its server."""

import multiprocessing

from config.supervisor import tether

_server = multiprocessing.parent_process()
if _server is not None and _server.pid:
    tether.tie_to(_server.pid)

from config.asgi import application  # noqa: E402

__all__ = ["application"]
