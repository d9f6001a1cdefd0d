"""`manage.py sandbox`: the local test provider, in a process of its own, without the database."""

import signal
import sqlite3
import ssl
from argparse import ArgumentParser
from pathlib import Path
from threading import Event

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from providers.sandbox.server import SandboxServer
from providers.sandbox.webhooks import Signer

BILL_NAME = "sandbox.sqlite3"


class Command(BaseCommand):
    help = "Run the sandbox: a local provider that draws test pictures and can misbehave."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.SANDBOX_HOST)
        parser.add_argument("--port", type=int, default=settings.SANDBOX_PORT)
        parser.add_argument(
            "--seconds",
            type=float,
            default=settings.SANDBOX_SECONDS,
            help="how long a picture takes",
        )
        parser.add_argument(
            "--minute",
            type=float,
            default=settings.SANDBOX_MINUTE,
            help="seconds that one minute of the slow faults takes",
        )
        parser.add_argument(
            "--certfile",
            type=Path,
            default=settings.SANDBOX_CERTFILE or None,
            help="serve https with this certificate",
        )
        parser.add_argument(
            "--keyfile",
            type=Path,
            default=settings.SANDBOX_KEYFILE or None,
            help="the certificate's key",
        )
        parser.add_argument("--data-dir", type=Path, default=settings.DATA_DIR)

    def handle(self, **options) -> None:
        stopped = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        with _open_server(options) as server:
            self.stdout.write(f"sandbox: {server.url}")
            self.stdout.flush()
            stopped.wait()


def _open_server(options: dict) -> SandboxServer:
    """Every way this can go wrong is one line that names the thing."""
    bill_path = _prepare_folder(options["data_dir"]) / BILL_NAME
    address = f"{options['host']}:{options['port']}"
    try:
        return SandboxServer(
            options["host"],
            options["port"],
            bill_path,
            seconds=options["seconds"],
            minute=options["minute"],
            tls=_certificate_files(options["certfile"], options["keyfile"]),
            signer=Signer(settings.SANDBOX_HOOKS, settings.SANDBOX_HOOK_SECRET),
        )
    except sqlite3.Error as exc:
        raise CommandError(f"sandbox: cannot write its bill {bill_path}: {exc}") from None
    except ssl.SSLError:
        files = f"{options['certfile']} and {options['keyfile']}"
        raise CommandError(f"sandbox: not a certificate and its key: {files}") from None
    except (OSError, OverflowError) as exc:
        raise CommandError(f"sandbox: cannot listen on {address}: {_reason(exc)}") from None


def _prepare_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise CommandError(f"sandbox: cannot use the folder {folder}: {exc.strerror}") from None
    return folder


def _certificate_files(certfile: Path | None, keyfile: Path | None) -> tuple[Path, Path] | None:
    if not certfile and not keyfile:
        return None
    if not certfile or not keyfile:
        raise CommandError("sandbox: --certfile and --keyfile go together")
    for file in (certfile, keyfile):
        if not file.is_file():
            raise CommandError(f"sandbox: there is no certificate file {file}")
    return certfile, keyfile


def _reason(exc: Exception) -> str:
    return getattr(exc, "strerror", None) or str(exc)
