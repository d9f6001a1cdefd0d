"""Files that are on the disk, whole, before anything names them."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_synced(file: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Whole or not at all, also after a power cut."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """A new name is on the disk once its folder is. Some file systems cannot sync a folder."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
