"""Where the files of pictures lie. No path leads out of the media folder."""

import logging
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

log = logging.getLogger(__name__)


def path_of(file: str) -> Path | None:
    """None for a name that would lead elsewhere."""
    folder = Path(settings.MEDIA_ROOT).resolve()
    try:
        path = (folder / file).resolve()
    except ValueError:
        return None
    return path if path.is_relative_to(folder) and path != folder else None


def read(file: str) -> bytes | None:
    """None where the file is not there or leads elsewhere."""
    path = path_of(file)
    try:
        return path.read_bytes() if path else None
    except OSError as exc:
        log.error("A kept result cannot be read: %s", exc.strerror)
        return None


def remove(files: Iterable[str]) -> int:
    """After the commit that forgot them; how many are gone. What cannot be removed is left for the
    audit to name."""
    gone = 0
    for file in files:
        path = path_of(file)
        try:
            if path:
                path.unlink(missing_ok=True)
                gone += 1
        except OSError as exc:
            log.error("A picture's file cannot be removed: %s", exc.strerror)
    return gone
