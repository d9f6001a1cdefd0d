"""The sandbox as a server: binds, serves from a thread, stops within a second."""

import socket
import sqlite3
import ssl
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Self

from providers.sandbox.bill import Bill
from providers.sandbox.routes import Routes, SandboxListener
from providers.sandbox.webhooks import Sender, Signer


class SandboxServer:
    """Binds at once: OSError if the port is busy, sqlite3.Error if the bill cannot be written.

    `seconds` is how long a picture takes, `minute` how long a minute of the slow faults lasts,
    `tls` the files of a certificate and its key, `signer` signs its webhooks. Port 0 takes any
    free one.
    """

    def __init__(
        self,
        host: str,
        port: int,
        bill_path: Path | str,
        *,
        seconds: float = 4.0,
        minute: float = 60.0,
        tls: tuple[Path | str, Path | str] | None = None,
        signer: Signer | None = None,
    ) -> None:
        self._listener = SandboxListener((host, port), Routes, _read_certificate(tls))
        try:
            self._listener.bill = Bill(bill_path)
        except sqlite3.Error:
            self._listener.server_close()
            raise
        self._listener.seconds, self._listener.minute = seconds, minute
        self._listener.hooks = Sender(signer)
        self._thread: Thread | None = None
        self.port: int = self._listener.server_address[1]
        shown_host = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if tls else 'http'}://{shown_host}:{self.port}"

    def start(self) -> None:
        self._listener.hooks.start()
        self._thread = Thread(target=self._listener.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends open connections too, also those on which a fault holds back the answer."""
        self._listener.stopping.set()
        self._listener.hooks.stop()
        if self._thread:
            # Wakes the accepting thread at once; it would look up every tenth of a second.
            with suppress(OSError):
                self._listener.socket.shutdown(socket.SHUT_RDWR)
            self._listener.shutdown()
            self._thread.join()
        self._listener.server_close()
        self._listener.hang_up()
        self._listener.bill.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


def _read_certificate(files: tuple[Path | str, Path | str] | None) -> ssl.SSLContext | None:
    if not files:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context
