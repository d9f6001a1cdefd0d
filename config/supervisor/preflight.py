"""What must be right before anything is started. Each failure is one line that names the thing."""

import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.core.checks import Error as CheckError
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.utils import timezone

from config.db.inspection import find_faults
from config.db.migration_history import find_partial_history
from config.supervisor.children import runs_sandbox, say
from config.supervisor.records import Records
from jobs.core import heartbeats, leases
from jobs.database.file import (
    UnusableFile,
    check_file,
    database_file,
    has_commits_beside,
    mark_start,
)
from jobs.database.integrity import faults_of_file
from jobs.database.newest_call import calls_are_missing, forget_newest_call
from jobs.engine import copies
from jobs.ops import restores
from jobs.processes.ticker import DUTY as TICKER_DUTY
from jobs.processes.ticker import longest_duty

CONNECT_TIMEOUT = 5
MIGRATION_LOCK = 0x636F756E746572
# Of 100 MB, the quick check took 0.4 s here and the whole one 5.6 s. A start waits for about a
# second after a clean end, and longer after another one.
QUICK_CHECK_MOST_BYTES = 256 * 2**20
WHOLE_CHECK_MOST_BYTES = 64 * 2**20


class CannotStart(Exception):
    """The site cannot start; the text is for the person who tried."""


def check_everything(records: Records) -> bool:
    """True when another copy of the database was put in the place of the one that the site ran on
    last: what was sent since that copy was made is not in it."""
    check_settings()
    check_data_folder()
    check_no_other_up(records)
    check_ports()
    was_replaced = check_database_file(records)
    check_database()
    check_redis()
    return was_replaced


def check_settings() -> None:
    all_found = run_checks()
    errors = [found for found in all_found if isinstance(found, CheckError)]
    if errors:
        raise CannotStart(f"{errors[0].msg} {errors[0].hint or ''} ({errors[0].id})")
    for found in all_found:
        if not found.is_silenced():
            say(f"counterfoil: {found.msg} {found.hint or ''} ({found.id})")


def check_data_folder() -> None:
    for folder in (settings.DATA_DIR, settings.MEDIA_ROOT, settings.STATIC_ROOT):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder) as file:
                file.write(b"can it be written?")
        except OSError as exc:
            raise CannotStart(f"DATA_DIR: {folder} is not writable: {exc.strerror}") from exc


def check_no_other_up(records: Records) -> None:
    other = records.running_up()
    if other:
        raise CannotStart(
            f"DATA_DIR {settings.DATA_DIR} is in use by a running site (process {other})"
        )
    if not records.claim():
        raise CannotStart(f"DATA_DIR {settings.DATA_DIR} is in use: another site is starting there")
    swept = records.sweep()
    if swept:
        say(f"counterfoil: ended what an earlier start had left running: {', '.join(swept)}")


def check_ports() -> None:
    check_port("PORT", settings.HOST, settings.PORT)
    if not runs_sandbox():
        return
    if settings.SANDBOX_PORT == settings.PORT:
        raise CannotStart(f"SANDBOX_PORT and PORT are both {settings.PORT}; choose another one")
    check_port("SANDBOX_PORT", settings.SANDBOX_HOST, settings.SANDBOX_PORT)


def check_port(name: str, host: str, port: int) -> None:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise CannotStart(f"{name}: cannot listen on {host} port {port}: {reason}") from exc


def check_database_file(records: Records) -> bool:
    """Before anything opens it: that would write the `-wal` next to it into the file."""
    file = database_file()
    if file is None:
        return False
    try:
        was_replaced = check_file(file)
    except UnusableFile as exc:
        raise CannotStart(str(exc)) from exc
    except OSError as exc:
        raise CannotStart(f"{file} cannot be read: {exc.strerror}") from exc
    if file.exists():
        ended_badly = records.path.exists() or has_commits_beside(file)
        refuse_malformed(file, is_suspect=ended_badly or was_replaced)
    return was_replaced


def refuse_malformed(file: Path, *, is_suspect: bool) -> None:
    size = file.stat().st_size
    if not is_suspect and size > QUICK_CHECK_MOST_BYTES:
        return
    faults = faults_of_file(file, whole=is_suspect and size <= WHOLE_CHECK_MOST_BYTES)
    if faults:
        raise CannotStart(
            f"{file} is malformed ({first_line(Exception(faults[0]))}): restore a backup with"
            " manage.py restore, and keep a copy of the file and of its side files"
        )


def check_database() -> None:
    try:
        connection.ensure_connection()
        faults = list(find_faults())
    except DatabaseError as exc:
        raise CannotStart(f"{database_setting()} cannot be opened: {first_line(exc)}") from exc
    if faults:
        raise CannotStart(f"{database_setting()}: {faults[0]}")


def check_history() -> None:
    try:
        fault = find_partial_history()
    except DatabaseError as exc:
        raise CannotStart(f"{database_setting()} cannot be read: {first_line(exc)}") from exc
    if fault:
        raise CannotStart(f"{database_setting()} cannot be migrated: {fault}")


def database_setting() -> str:
    return "DATABASE_URL" if settings.DATABASE_URL else f"the database in {settings.DATA_DIR}"


def check_redis() -> None:
    if not settings.REDIS_URL:
        return
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=CONNECT_TIMEOUT,
            socket_timeout=CONNECT_TIMEOUT,
        ) as client:
            client.ping()
    except (redis.RedisError, ValueError) as exc:
        host = urlsplit(settings.REDIS_URL).hostname
        raise CannotStart(f"REDIS_URL: {host} does not answer: {first_line(exc)}") from exc


def check_no_copy() -> None:
    """After the migration: the database's identity is in it."""
    if not settings.REDIS_URL:
        return
    with suppress(redis.RedisError):
        if copies.copy_is_running():
            raise CannotStart(
                "REDIS_URL: a site with a copy of this database is running on it;"
                " give each site a REDIS_URL of its own"
            )


def warn_of_second_site() -> None:
    """A ticker that keeps its duty while nothing of ours runs is another site's. Several machines
    may share a database on purpose, so this refuses nothing."""
    found = leases.duty_elsewhere(TICKER_DUTY, timezone.now(), longest_duty())
    end = time.monotonic() + settings.TICKER_LEASE_LASTS.total_seconds()
    while found and time.monotonic() < end:
        time.sleep(0.1)
        again = leases.duty_elsewhere(TICKER_DUTY, timezone.now(), longest_duty())
        if again and again.until != found.until:
            say(
                f"counterfoil: another site is running on {database_setting()}; unless it is this"
                " one on another machine, with the same SECRET_KEY and media, stop one of them"
            )
            return
        found = again


def migrate() -> None:
    try:
        with nobody_else_migrating():
            check_history()
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
    except (DatabaseError, CommandError, InconsistentMigrationHistory) as exc:
        raise CannotStart(f"{database_setting()} cannot be migrated: {first_line(exc)}") from exc


@contextmanager
def nobody_else_migrating() -> Iterator[None]:
    """On PostgreSQL several machines may start at once; a SQLite file belongs to one site."""
    if connection.vendor != "postgresql":
        yield
        return
    # The lock of a transaction, on a connection of its own: behind a pooler a session is not ours.
    holder = connection.copy()
    try:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
        yield
    finally:
        holder.close()


def take_over_database(*, was_replaced: bool) -> None:
    """Nothing else of this site runs: a copy that was put here by hand is treated as restored, and
    the next start will know this file again."""
    file = database_file()
    if file is None:
        take_over_older_state()
        return
    if was_replaced:
        cancelled = restores.take_over(backup_made_at=None, now=timezone.now())
        say(
            f"counterfoil: {file} was replaced since the last start and is treated as restored from"
            f" a backup: {cancelled} queued jobs were cancelled and everyone is signed out"
        )
    connection.close()
    mark_start(file)


def take_over_older_state() -> None:
    """PostgreSQL's own tools restored an older state without a notice to this site."""
    if not calls_are_missing():
        return
    if heartbeats.ticker_is_beating():
        raise CannotStart(
            "DATABASE_URL: the database was put back to an older state while a site is running on"
            " it; stop that site first"
        )
    cancelled = restores.take_over(backup_made_at=None, now=timezone.now())
    forget_newest_call()
    say(
        "counterfoil: the database of DATABASE_URL is older than what this site has sent and is"
        f" treated as restored from a backup: {cancelled} queued jobs were cancelled and everyone"
        " is signed out"
    )


def collect_static() -> None:
    try:
        call_command("collectstatic", interactive=False, verbosity=0, skip_checks=True)
    except (OSError, CommandError) as exc:
        raise CannotStart(f"DATA_DIR: {settings.STATIC_ROOT} cannot be filled: {exc}") from exc


def first_line(exc: Exception) -> str:
    return (str(exc).strip().splitlines() or [type(exc).__name__])[0]
