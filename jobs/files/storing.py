"""Store files of results, and find out before a download whether there is room.

The test is realistic: it writes and syncs a draft of the needed size. Free space alone
does not cover inodes, quotas, permissions and a read-only file system.
"""

import errno
import hashlib
import os
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from jobs.files.storage import NoRoom

PICTURES = "pictures"
UNREAD = "unread"
LEAST_ROOM = 64 * 1024
BLOCK = bytes(2**20)
UNSUPPORTED = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODEV}


def check_room(size: int = LEAST_ROOM) -> None:
    """Raises NoRoom unless a file of this size can be written now."""
    size = max(size, LEAST_ROOM)
    folder = Path(settings.MEDIA_ROOT) / PICTURES
    draft = folder / f".room.{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with open(draft, "wb") as file:
                _fill(file.fileno(), size)
                os.fsync(file.fileno())
        finally:
            draft.unlink(missing_ok=True)
    except OSError as exc:
        raise NoRoom(exc, size) from exc


def has_room_for_largest() -> bool:
    """Raises OSError where nothing can be written. For probes, every second: unlike `check_room` it
    neither takes the room nor waits for the disk. The file has no name, so it cannot be left
    behind."""
    settings.MEDIA_ROOT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=settings.MEDIA_ROOT) as file:
        file.write(b"room?")
        file.flush()
        disk = os.fstatvfs(file.fileno())
    return disk.f_bavail * disk.f_frsize >= settings.FETCH_MAX_BYTES


def most_room(sizes: Iterable[int]) -> int:
    """The largest of a few sizes that cover these and can be written now; 0 where none can."""
    room = 0
    for size in sorted({1 << (max(size, LEAST_ROOM) - 1).bit_length() for size in sizes}):
        try:
            check_room(size)
        except NoRoom:
            break
        room = size
    return room


def store(name: str, content: bytes) -> None:
    """Raises NoRoom. When this returns the file is there, whole, also after a power cut. Only then
    may a row name it. A name is used once."""
    try:
        default_storage.save(name, ContentFile(content))
    except OSError as exc:
        raise NoRoom(exc, len(content)) from exc


def read_draft(name: str, sha256: str) -> bytes | None:
    """What was stored whole but for its name; None where it is there no more."""
    try:
        with default_storage.open(name) as file:
            content = file.read()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def _fill(descriptor: int, size: int) -> None:
    """Really taken, not a hole."""
    allocate = getattr(os, "posix_fallocate", None)
    try:
        if allocate:
            allocate(descriptor, 0, size)
            return
    except OSError as exc:
        if exc.errno not in UNSUPPORTED:
            raise
    while size > 0:
        size -= os.write(descriptor, BLOCK[:size])
