"""Small pictures for lists: drawn on the first request, kept as files, never as rows.

Losing one loses nothing. A large original takes four bytes of memory for each of its pixels, so it
is drawn in a process of its own, with bounded memory that goes back to the system. One such runs
at a time.
"""

import io
import logging
import os
import subprocess
import sys
import threading
import uuid
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from PIL import Image

from jobs.core.models import Picture
from jobs.database.connections import give_back_connections
from jobs.files import media
from jobs.pictures import drawing
from providers.wire.picture_files import TURNS, open_upright, orientation

log = logging.getLogger(__name__)

MEDIA_TYPE = "image/webp"
MOST_PIXELS = (480, 480)
# Beyond these pixels a process of its own: starting one takes longer than drawing a smaller one.
LARGE = 8_000_000
MOST_BYTES = 2**30
DRAW_SECONDS = WAIT_SECONDS = 20
MOST_REMEMBERED = 1_000
_turns = threading.BoundedSemaphore(2)
_turn_of_large = threading.BoundedSemaphore(1)
# What could not be drawn is not tried again while the file is the same.
_unreadable: OrderedDict[tuple[uuid.UUID, int], None] = OrderedDict()


class NotDrawn(Exception):
    pass


def file_of(picture_id: uuid.UUID) -> str:
    return f"thumbnails/{picture_id.hex[:2]}/{picture_id.hex}.webp"


def make_thumbnail(picture: Picture) -> bytes | None:
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
    """None where it cannot be drawn, or not in time."""
    original = media.path_of(picture.file)
    try:
        known = (picture.pk, original.stat().st_mtime_ns if original else 0)
    except OSError:
        return None
    if original is None or known in _unreadable:
        return None
    give_back_connections()
    try:
        return _draw_in_turn(original)
    except (NotDrawn, *drawing.UNREADABLE) as exc:
        log.warning("A picture cannot be made small: %s", type(exc).__name__)
        _unreadable[known] = None
        while len(_unreadable) > MOST_REMEMBERED:
            _unreadable.popitem(last=False)
        return None


def _draw_in_turn(original: Path) -> bytes | None:
    turns, draw = (_turn_of_large, _draw_apart) if _is_large(original) else (_turns, _draw_here)
    if not turns.acquire(timeout=WAIT_SECONDS):
        log.warning("A small picture was not drawn in time: too many requests at once")
        return None
    try:
        return draw(original, MOST_PIXELS)
    finally:
        turns.release()


def _is_large(original: Path) -> bool:
    """False if a strict reader fails; the lenient one then applies the same bound."""
    try:
        return drawing.pixels_of(original) > LARGE
    except drawing.UNREADABLE:
        return False


def _draw_here(original: Path, most: tuple[int, int]) -> bytes:
    """Also where metadata keeps a strict reader from the pixels."""
    out = io.BytesIO()
    try:
        small = open_upright(original.read_bytes(), most, most_pixels=LARGE)
        small.thumbnail(most)
        small.save(out, "WEBP", quality=80)
    except Exception as exc:  # Pillow raises anything at all for bytes that it did not make
        raise NotDrawn from exc
    return out.getvalue()


def _draw_apart(original: Path, most: tuple[int, int]) -> bytes:
    with Image.open(original) as image:
        turn = TURNS.get(orientation(image), drawing.NO_TURN)
    numbers = map(str, (*most, int(turn), MOST_BYTES))
    command = [sys.executable, "-I", drawing.__file__, str(original), *numbers]
    try:
        drawn = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=DRAW_SECONDS,
            check=True,
        )
    except subprocess.SubprocessError as exc:
        raise NotDrawn from exc
    return drawn.stdout


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
