"""A PgBouncer of the test's own, in transaction mode, in front of the PostgreSQL of the tests."""

import os
import pwd
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

import psycopg

from tests.site_process import free_port, wait_until

PROGRAM = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
USER = "postgres"
# Fewer sessions than the site has connections: none of them can keep one.
SETTINGS = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
server_login_retry = 1
"""


class PgBouncer:
    def __init__(self, folder: Path, server_url: str) -> None:
        server = urlsplit(server_url)
        self.port = free_port()
        self.url = f"postgres://{server.username}@127.0.0.1:{self.port}{server.path}"
        self._log = folder / "pgbouncer.log"
        self._settings = SETTINGS.format(
            host=server.hostname,
            port=server.port or 5432,
            user=server.username,
            listen=self.port,
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "PgBouncer":
        assert PROGRAM
        # It refuses to run as root, and its own user cannot read the test's folder.
        user = pwd.getpwnam(USER).pw_uid if os.geteuid() == 0 else None
        with NamedTemporaryFile("w", suffix=".ini") as settings, self._log.open("ab") as log:
            settings.write(self._settings)
            settings.flush()
            if user is not None:
                os.chown(settings.name, user, -1)
            self._process = subprocess.Popen(
                [PROGRAM, settings.name], stdout=log, stderr=log, user=user, cwd="/"
            )
            wait_until(self._answers)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        self.__exit__()
        self.__enter__()

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self._log.read_text()
        with suppress(psycopg.OperationalError):
            psycopg.connect(self.url, connect_timeout=2).close()
            return True
        return False
