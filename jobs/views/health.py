"""For machines: does the process live, and can the site do its work. No page, no quota."""

import logging
import threading
from collections.abc import Callable

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs import heartbeats
from jobs.database.integrity import is_damage
from jobs.live.hub import open_streams
from jobs.outages import describe

log = logging.getLogger(__name__)

_migrated = threading.Event()


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers, whatever became of the database; `streams` are the open live pages."""
    return JsonResponse({"status": "ok", "streams": open_streams()})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when pictures can be ordered and made, otherwise 503 naming what is missing."""
    found = {name: _holds(check) for name, check in READY.items()}
    ready = all(found.values())
    return JsonResponse({"ready": ready, **found}, status=200 if ready else 503)


def _holds(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Error as exc:
        if is_damage(exc):
            log.error("The database %s", describe(exc))
        return False


def _database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True


def _migrations() -> bool:
    """Looking costs as much as a page. What this process has found complete stays so."""
    if not _migrated.is_set():
        executor = MigrationExecutor(connection)
        if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
            _migrated.set()
    return _migrated.is_set()


READY: dict[str, Callable[[], bool]] = {
    "database": _database,
    "migrations": _migrations,
    "ticker": lambda: heartbeats.ticker_is_alive(timezone.now()),
    "workers": lambda: heartbeats.cluster_is_alive(timezone.now()),
}
