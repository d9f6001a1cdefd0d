"""The storage of pictures and other files of results, named in STORAGES."""

import hashlib
import os
import uuid
from contextlib import suppress
from pathlib import Path

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

from jobs.database.synced_files import sync_folder


class NoRoom(Exception):
    """Nothing of this size can be stored now. `draft` names the bytes where they are stored whole
    and only the name could not be given."""

    def __init__(self, exc: OSError, size: int, draft: str = "", sha256: str = "") -> None:
        super().__init__(exc.strerror or type(exc).__name__)
        self.size, self.draft, self.sha256 = size, draft, sha256


class SyncedStorage(FileSystemStorage):
    """On the disk, whole or not at all, before `save` returns. Raises NoRoom."""

    def _save(self, name: str, content: File) -> str:
        path = Path(self.path(name))
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        received = content.read()
        is_whole = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(draft, "wb") as file:
                file.write(received)
                file.flush()
                os.fsync(file.fileno())
            is_whole = True
            os.replace(draft, path)
        except OSError as exc:
            if is_whole:
                kept = str(draft.relative_to(self.path("")))
                sha256 = hashlib.sha256(received).hexdigest()
                raise NoRoom(exc, len(received), kept, sha256) from exc
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise NoRoom(exc, len(received)) from exc
        sync_folder(path.parent)
        return name

    def delete(self, name: str) -> None:
        """A file, never a folder."""
        Path(self.path(name)).unlink(missing_ok=True)
