"""Files of results on the disk: whole or not at all, and room for them before they are fetched.

The test is realistic: it writes and syncs a draft of the needed size. Free space alone
does not cover inodes, quotas, permissions and a read-only file system.
"""

import errno
import hashlib
import os
import tempfile
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from jobs.database.synced_files import sync_folder

PICTURES = "pictures"
UNREAD = "unread"
LEAST_ROOM = 64 * 1024
BLOCK = bytes(2**20)
UNSUPPORTED = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODEV}


class NoRoom(Exception):
    """Nothing of this size can be stored now. `draft` holds the bytes where only its name could
    not be changed."""

    def __init__(self, exc: OSError, size: int, draft: str = "", sha256: str = "") -> None:
        super().__init__(exc.strerror or type(exc).__name__)
        self.size, self.draft, self.sha256 = size, draft, sha256


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
    """Raises NoRoom; the file has its name only once it is whole, also after a power cut. Only then
    may a row name it."""
    path = Path(settings.MEDIA_ROOT) / name
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    is_whole = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        is_whole = True
        os.replace(draft, path)
    except OSError as exc:
        if is_whole:
            kept = str(draft.relative_to(settings.MEDIA_ROOT))
            raise NoRoom(exc, len(content), kept, hashlib.sha256(content).hexdigest()) from exc
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise NoRoom(exc, len(content)) from exc
    sync_folder(path.parent)


def read_draft(name: str, sha256: str) -> bytes | None:
    """What was stored whole but for its name; None where it is there no more."""
    try:
        content = (Path(settings.MEDIA_ROOT) / name).read_bytes()
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
