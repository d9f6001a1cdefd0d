"""Read and remove stored files. No name leads out of the storage."""

import logging
from collections.abc import Iterable
from pathlib import Path

from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import default_storage

log = logging.getLogger(__name__)


def path_of(file: str) -> Path | None:
    """None for a name that would lead elsewhere."""
    try:
        path = Path(default_storage.path(file)).resolve()
    except (SuspiciousOperation, ValueError):
        return None
    root = Path(default_storage.path("")).resolve()
    return path if path.is_relative_to(root) and path != root else None


def read(file: str) -> bytes | None:
    """None where the file is not there or leads elsewhere."""
    try:
        with default_storage.open(file) as opened:
            return opened.read()
    except (SuspiciousOperation, ValueError):
        return None
    except OSError as exc:
        log.error("A kept result cannot be read: %s", exc.strerror)
        return None


def remove(files: Iterable[str]) -> int:
    """After the commit that forgot them; how many are gone. What cannot be removed is left for the
    audit to name."""
    gone = 0
    for file in files:
        if path_of(file) is None:
            continue
        try:
            default_storage.delete(file)
            gone += 1
        except OSError as exc:
            log.error("A picture's file cannot be removed: %s", exc.strerror)
    return gone
