"""Draws one small picture; run as a script it does so in a process that may not grow.

python drawing.py ORIGINAL WIDTH HEIGHT BYTES > small.webp

Imports nothing of ours, so that the process is started within a moment.
"""

import io
import struct
import sys
from pathlib import Path

from PIL import Image, ImageOps

# The last two are what Pillow raises of a broken PNG and of a camera's notes that make no sense.
UNREADABLE = (OSError, ValueError, Image.DecompressionBombError, SyntaxError, struct.error)


def pixels_of(original: Path) -> int:
    """What is decoded at most: only the head of the file is read. Raises one of UNREADABLE."""
    with Image.open(original) as image:
        return image.width * image.height


def draw(original: Path, most: tuple[int, int]) -> bytes:
    """Raises one of UNREADABLE. Made small first and turned then: turning makes a copy."""
    out = io.BytesIO()
    with Image.open(original) as image:
        image.draft("RGB", most)
        image.thumbnail(most)
        ImageOps.exif_transpose(image).save(out, "WEBP", quality=80)
    return out.getvalue()


def _main(original: str, width: str, height: str, most_bytes: str) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (int(most_bytes), int(most_bytes)))
    sys.stdout.buffer.write(draw(Path(original), (int(width), int(height))))


if __name__ == "__main__":
    _main(*sys.argv[1:])
