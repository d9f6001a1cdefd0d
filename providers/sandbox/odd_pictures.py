"""Files that a strict reader may stumble over, although every pixel is there."""

import struct
import zlib
from collections.abc import Callable
from io import BytesIO

from PIL import Image
from PIL.PngImagePlugin import PngInfo

# Pillow refuses to unpack more than 1 MiB of text unless configured otherwise.
LONG_TEXT = "a step of the workflow; " * 52_000
END_MARKER = b"\xff\xd9"
AFTER_HEADER = 8 + 25

Encoder = Callable[[Image.Image], bytes]


def with_long_text(picture: Image.Image) -> bytes:
    info = PngInfo()
    info.add_text("workflow", LONG_TEXT, zip=True)
    return _saved(picture, "PNG", pnginfo=info)


def with_wrong_checksum(picture: Image.Image) -> bytes:
    """Of a text chunk, which no pixel depends on."""
    whole, text = _saved(picture, "PNG"), b"Comment\0made by the sandbox"
    checksum = zlib.crc32(b"tEXt" + text) ^ 0xFFFFFFFF
    chunk = struct.pack(">I", len(text)) + b"tEXt" + text + struct.pack(">I", checksum)
    return whole[:AFTER_HEADER] + chunk + whole[AFTER_HEADER:]


def without_end_marker(picture: Image.Image) -> bytes:
    return _saved(picture, "JPEG", quality=90).removesuffix(END_MARKER)


def with_16_bits(picture: Image.Image) -> bytes:
    deep = picture.convert("L").convert("I").point(lambda value: value * 257)
    return _saved(deep.convert("I;16"), "PNG")


def as_bitmap(picture: Image.Image) -> bytes:
    return _saved(picture, "BMP")


ODD_PICTURES: dict[str, tuple[Encoder, str]] = {
    "png_text": (with_long_text, "image/png"),
    "png_checksum": (with_wrong_checksum, "image/png"),
    "png_16_bits": (with_16_bits, "image/png"),
    "jpeg_end": (without_end_marker, "image/jpeg"),
    "bitmap": (as_bitmap, "image/bmp"),
}
"""Fault -> how its file is written, and as what it is sent."""


def _saved(picture: Image.Image, file_format: str, **options: object) -> bytes:
    out = BytesIO()
    picture.save(out, file_format, **options)
    return out.getvalue()
