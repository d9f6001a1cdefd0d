"""Entry point of the web child: `config.asgi` in a worker that dies with its server and raises its
limit of open files."""

import multiprocessing
import sys

from config.http import listener
from config.supervisor import open_files, tether

_server = multiprocessing.parent_process()
if _server is not None and _server.pid:
    tether.tie_to(_server.pid)
open_files.raise_limit()
listener.bound_readers()
# The server accepts connections in the thread that passes requests to Python. There it waits for
# the interpreter, by default up to 5 ms per request under load.
sys.setswitchinterval(0.0005)

from config.asgi import application  # noqa: E402

__all__ = ["application"]
