"""The pixels of a file without what surrounds them, where a strict reader stops at the rest.

A text chunk, a colour profile or a missing end marker does not affect the pixels. Each function
returns the same pixels in a file that holds nothing else; `share` is the part that is there.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff"
END_OF_JPEG = b"\xff\xd9"
PIXEL_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT")
WEBP_PIXEL_CHUNKS = (b"VP8X", b"ALPH", b"VP8 ", b"VP8L")
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# Of each pass of an interlaced PNG: first column and row, and the steps between them.
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
          (0, 1, 1, 2))  # fmt: skip
# Metadata of cameras and editors; 0 (JFIF), 2 (profile) and 14 (Adobe's colours) stay.
JPEG_METADATA = frozenset({0xE1, *range(0xE3, 0xEE), 0xEF, 0xFE})
NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
START_OF_SCAN, RESTARTS = 0xDA, 0xDD
PIECE = 2**20
# Browsers decode neither arithmetic coding nor lossless JPEG.
NOT_FOR_BROWSERS = frozenset({0xC3, *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)})


class TooManyPixels(Exception):
    pass


@dataclass(frozen=True)
class PngPixels:
    content: bytes
    share: float


def png_pixels(content: bytes, most_pixels: int) -> PngPixels | None:
    """None where the header is missing or wrong. Raises TooManyPixels before any is unpacked."""
    kept = [(name, data) for name, data in _png_chunks(content) if name in PIXEL_CHUNKS]
    if not kept or kept[0][0] != b"IHDR" or len(kept[0][1]) != 13:
        return None
    width, height = struct.unpack(">II", kept[0][1][:8])
    if width * height > most_pixels:
        raise TooManyPixels
    packed = b"".join(data for name, data in kept if name == b"IDAT")
    head = [(name, data) for name, data in kept if name != b"IDAT"]
    share, repacked = _repack(packed, _png_size(kept[0][1]))
    chunks = [*head, (b"IDAT", repacked), (b"IEND", b"")]
    return PngPixels(PNG + b"".join(_chunk(*chunk) for chunk in chunks), share)


def jpeg_pixels(content: bytes, filler: bytes = b"") -> bytes:
    """With an end marker of its own. Two fillers before it show the same picture only where no
    pixel is missing: a decoder takes them for the rest of the scan."""
    parts, at = [content[:2]], 2
    for marker, end in _jpeg_segments(content):
        if marker == START_OF_SCAN:
            break
        if marker == RESTARTS and filler:
            filler = b"".join(filler[:64] + bytes([0xFF, 0xD0 + n % 8]) for n in range(256))
        if marker not in JPEG_METADATA:
            parts.append(content[at:end])
        at = end
    # A lone 0xFF is half of a marker.
    return b"".join([*parts, content[at:].rstrip(b"\xff"), filler, END_OF_JPEG])


def count_scans(content: bytes) -> int:
    """At least as many as the JPEG has: the marker never occurs in the data of a scan."""
    return content.count(bytes([0xFF, START_OF_SCAN]))


def jpeg_needs_conversion(content: bytes) -> bool:
    return any(marker in NOT_FOR_BROWSERS for marker, _ in _jpeg_segments(content))


def webp_pixels(content: bytes) -> bytes | None:
    """Of a picture that does not move; None where there is none."""
    kept, at = [], 12
    while at + 8 <= len(content):
        name, (size,) = content[at : at + 4], struct.unpack("<I", content[at + 4 : at + 8])
        data = content[at + 8 : at + 8 + size]
        if name in WEBP_PIXEL_CHUNKS and len(data) == size:
            is_head = name == b"VP8X" and data
            kept.append((name, bytes([data[0] & 0x10]) + data[1:] if is_head else data))
        at += 8 + size + size % 2
    if not any(name in (b"VP8 ", b"VP8L") for name, _ in kept):
        return None
    body = b"".join(
        name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for name, data in kept
    )
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def _png_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The last one may be cut; checksums are not checked."""
    at = len(PNG)
    while at + 8 <= len(content):
        size, name = struct.unpack(">I4s", content[at : at + 8])
        if name == b"IEND":
            return
        yield name, content[at + 8 : at + 8 + size]
        at += 12 + size


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _png_size(header: bytes) -> int:
    """How many bytes the pixels are, unpacked."""
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    bits = depth * CHANNELS.get(colour, 4)
    passes = PASSES if interlaced else ((0, 0, 1, 1),)
    total = 0
    for left, top, across, down in passes:
        columns, lines = -(-(width - left) // across), -(-(height - top) // down)
        if columns > 0 and lines > 0:
            total += lines * (1 + -(-columns * bits // 8))
    return total


def _repack(packed: bytes, expected: int) -> tuple[float, bytes]:
    """The share of the expected bytes that can be unpacked; and a stream of that many bytes, where
    the one that came breaks off or fails its checksum. In pieces, for the sake of memory."""
    inflate, deflate = zlib.decompressobj(), zlib.compressobj(1)
    parts, unpacked, piece = [], 0, packed
    try:
        while not inflate.eof:
            got = inflate.decompress(piece, PIECE)[: expected - unpacked]
            piece = inflate.unconsumed_tail
            unpacked += len(got)
            parts.append(deflate.compress(got))
            if not got and (not piece or unpacked >= expected):
                break
    except zlib.error:
        pass
    if not expected or (inflate.eof and unpacked == expected):
        return 1.0 if expected else 0.0, packed
    for start in range(unpacked, expected, PIECE):
        parts.append(deflate.compress(bytes(min(PIECE, expected - start))))
    return unpacked / expected, b"".join([*parts, deflate.flush()])


def _jpeg_segments(content: bytes) -> Iterator[tuple[int, int]]:
    """Marker and end of each segment up to the first scan."""
    at = 2
    while at + 4 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        size = 0 if marker in NO_LENGTH else struct.unpack(">H", content[at + 2 : at + 4])[0]
        yield marker, at + 2 + size
        if marker == START_OF_SCAN:
            return
        at += 2 + size
