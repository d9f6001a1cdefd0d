"""Draws one small picture; run as a script it does so in a process that may not grow.

python drawing.py ORIGINAL WIDTH HEIGHT TURN BYTES > small.webp

Imports nothing of ours, so that the process is started within a moment.
"""

import io
import struct
import sys
from pathlib import Path

from PIL import Image

NO_TURN = -1
# The last two are what Pillow raises of a broken PNG and of a camera's notes that make no sense.
UNREADABLE = (OSError, ValueError, Image.DecompressionBombError, SyntaxError, struct.error)


def pixels_of(original: Path) -> int:
    """What is decoded at most: only the head of the file is read. Raises one of UNREADABLE."""
    with Image.open(original) as image:
        return image.width * image.height


def draw(original: Path, most: tuple[int, int], turn: int) -> bytes:
    """Made small first and turned then, since turning makes a copy. `turn` is one of
    `Image.Transpose`, or NO_TURN. Raises one of UNREADABLE."""
    out = io.BytesIO()
    with Image.open(original) as image:
        image.draft("RGB", most)
        image.thumbnail(most)
        small = image if turn == NO_TURN else image.transpose(Image.Transpose(turn))
        small.save(out, "WEBP", quality=80)
    return out.getvalue()


def _main(original: str, width: str, height: str, turn: str, most_bytes: str) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (int(most_bytes), int(most_bytes)))
    sys.stdout.buffer.write(draw(Path(original), (int(width), int(height)), int(turn)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
