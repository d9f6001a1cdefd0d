"""Small pictures for lists: drawn when they are first asked for, kept as files, never as rows.

Losing one loses nothing. Two are drawn at a time, since a large original takes much memory.
"""

import io
import logging
import os
import struct
import threading
import uuid
from contextlib import suppress
from pathlib import Path

from PIL import Image, ImageOps

from jobs import media
from jobs.models import Picture

log = logging.getLogger(__name__)

MEDIA_TYPE = "image/webp"
MOST_PIXELS = (480, 480)
# The last two are what Pillow raises of a broken PNG and of a camera's notes that make no sense.
UNREADABLE = (OSError, ValueError, Image.DecompressionBombError, SyntaxError, struct.error)
_turns = threading.BoundedSemaphore(2)


def file_of(picture_id: uuid.UUID) -> str:
    return f"thumbnails/{picture_id.hex[:2]}/{picture_id.hex}.webp"


def thumbnail_of(picture: Picture) -> bytes | None:
    """None where the original cannot be read."""
    path = media.path_of(file_of(picture.pk))
    assert path
    if kept := _kept(path):
        return kept
    content = _draw(picture)
    if content:
        _keep(path, content)
    return content


def _kept(path: Path) -> bytes:
    """Empty where there is none, or where a power cut left only the name of one."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _draw(picture: Picture) -> bytes | None:
    original = media.path_of(picture.file)
    out = io.BytesIO()
    try:
        with _turns, Image.open(original or "") as image:
            image.draft("RGB", MOST_PIXELS)
            small = ImageOps.exif_transpose(image)
            small.thumbnail(MOST_PIXELS)
            small.save(out, "WEBP", quality=80)
    except UNREADABLE as exc:
        log.warning("A picture cannot be made small: %s", type(exc).__name__)
        return None
    return out.getvalue()


def _keep(path: Path, content: bytes) -> None:
    """Whole or not at all; on a disk that is full or read-only it is drawn anew each time."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        os.replace(draft, path)
    except OSError as exc:
        log.warning("A small picture cannot be kept: %s", exc.strerror)
        with suppress(OSError):
            draft.unlink()
