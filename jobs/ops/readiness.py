"""Whether the site can take an order and make a picture. Each need is tried as an order would.

Probes come without any limit, so all within a second share one look.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from django.conf import settings
from django.db import Error, connection, transaction
from django.db.migrations.exceptions import NodeNotFoundError
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.core import heartbeats
from jobs.core.models import Heartbeat
from jobs.database.integrity import is_damage
from jobs.files import storing

LOOK_EVERY = 1.0
# An order may wait longer for a lock; a probe must not.
WITHIN_MS = 2000
WHOLE = "whole"
"""In the answer only if the database is malformed."""
MALFORMED = _("The database is damaged. Stop the site and restore a backup.")

_migrated = threading.Event()


@dataclass(frozen=True)
class Need:
    name: str
    holds: Callable[[], bool]
    missing: Promise | str
    """Shown when it does not hold."""
    asks_database: bool = True


class Readiness:
    """The last look; one thread at a time takes the next."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._found: dict[str, bool] = {}
        self._looked_at = float("-inf")

    def look(self) -> dict[str, bool]:
        """Each need by name. Others wait while one looks, and share what it found."""
        with self._turn:
            if time.monotonic() - self._looked_at >= LOOK_EVERY:
                self._found = find_all()
                self._looked_at = time.monotonic()
            return self._found

    def forget(self) -> None:
        self._looked_at = float("-inf")


def find_all() -> dict[str, bool]:
    """A database that does not answer is not tried further: each try could wait long."""
    found: dict[str, bool] = {}
    for need in NEEDS:
        usable = found.get("database", True) and found.get(WHOLE, True)
        try:
            found[need.name] = (usable or not need.asks_database) and _holds(need)
        except Error as exc:
            found[need.name] = False
            if is_damage(exc):
                found[WHOLE] = False
    return found


def sentences(found: dict[str, bool]) -> list[str]:
    missing = [str(need.missing) for need in NEEDS if not found[need.name]]
    return missing if found.get(WHOLE, True) else [str(MALFORMED), *missing]


def _holds(need: Need) -> bool:
    try:
        with _impatient() if need.asks_database else nullcontext():
            return need.holds()
    except OSError:
        return False


def _answers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True


def _takes_writes() -> bool:
    """Writes a row that blocks no one, and takes it back."""
    with transaction.atomic():
        Heartbeat.objects.create(name=f"probe-{secrets.token_hex(6)}")
        transaction.set_rollback(True)
    return True


@contextmanager
def _impatient() -> Iterator[None]:
    """Nothing in here waits for long: not for a row or a table, nor for SQLite's writer."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {WITHIN_MS}")
            yield
        return
    usual = settings.DATABASES["default"]["OPTIONS"]["timeout"] * 1000
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {WITHIN_MS}")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual}")


def _is_migrated() -> bool:
    """Looking costs as much as a page. What this process has found complete stays so."""
    if not _migrated.is_set():
        try:
            executor = MigrationExecutor(connection)
        except NodeNotFoundError:
            # Some of the migrations that a squashed one replaces are applied.
            return False
        loader = executor.loader
        is_known = (loader.disk_migrations or {}).keys() <= (loader.applied_migrations or {}).keys()
        # The plan leaves out a squashed migration that is replaced in part.
        if not executor.migration_plan(loader.graph.leaf_nodes()) and is_known:
            _migrated.set()
    return _migrated.is_set()


NEEDS = (
    Need("database", _answers, _("The database does not answer.")),
    Need(
        "writes",
        _takes_writes,
        _("The database accepts no writes, so no picture can be requested."),
    ),
    Need("migrations", _is_migrated, _("The database is not migrated.")),
    Need(
        "storage",
        storing.has_room_for_largest,
        _("DATA_DIR is full or not writable, so pictures cannot be saved."),
        asks_database=False,
    ),
    Need(
        "ticker",
        lambda: heartbeats.ticker_is_alive(timezone.now()),
        _("The ticker is not responding."),
    ),
    Need(
        "workers",
        lambda: heartbeats.cluster_is_alive(timezone.now()),
        _("The workers are not responding."),
    ),
)
readiness = Readiness()
