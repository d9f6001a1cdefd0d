"""Whether the database is older than what this site has sent. PostgreSQL's own tools put an older
state back without a trace, so the ticker notes the number of the newest call in DATA_DIR.

A SQLite file carries a mark of its own (`jobs.database.file`).
"""

import json
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Max

from jobs.database.synced_files import write_synced
from providers.calls.models import Call
from quotas.identity import read_site_id

NOTE_EVERY = 1.0


class NewestCall:
    """For one process: the ticker that has the duty."""

    def __init__(self) -> None:
        self._due_at = 0.0
        self._noted = -1

    def note_if_due(self) -> None:
        if connection.vendor != "postgresql" or time.monotonic() < self._due_at:
            return
        self._due_at = time.monotonic() + NOTE_EVERY
        self.note()

    def note(self) -> None:
        newest = _newest()
        if newest == self._noted:
            return
        with suppress(OSError):
            content = json.dumps({"site": read_site_id(), "call": newest})
            write_synced(_file(), content.encode())
            self._noted = newest


def calls_are_missing() -> bool:
    """False for another site's database, and where nothing was noted."""
    try:
        noted = json.loads(_file().read_bytes())
        return noted["site"] == read_site_id() and noted["call"] > _newest()
    except (OSError, ValueError, TypeError, KeyError):
        return False


def forget_newest_call() -> None:
    """What the restored database lacks is taken into account from here on."""
    _file().unlink(missing_ok=True)


def _newest() -> int:
    return Call.objects.aggregate(newest=Max("pk", default=0))["newest"]


def _file() -> Path:
    return Path(settings.DATA_DIR) / "newest_call.json"
