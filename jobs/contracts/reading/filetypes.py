"""What a file is, by its first bytes. The name decides only between Markdown and plain text."""

import re
from enum import StrEnum

from jobs.contracts.reading.refusals import Reason, Unreadable

MOST_BYTES = 20 * 2**20


class FileType(StrEnum):
    PDF = "pdf"
    DOCX = "docx"
    HTML = "html"
    TEXT = "text"


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
IMAGES = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\x00", b"MM\x00*", b"BM", b"\x00\x00\x01\x00",
    b"8BPS",
)  # fmt: skip
ARCHIVES = (
    b"PK\x05\x06", b"PK\x07\x08", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh", b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
)  # fmt: skip
BINARIES = (
    b"\x7fELF",
    b"MZ",
    b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe",
    b"SQLite format",
    b"{\\rtf",
    b"%!PS",
    b"\x00asm",
)
TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|div|h1|p|table)\b",
    re.IGNORECASE | re.DOTALL,
)


def detect(data: bytes) -> FileType:
    if not data.strip(b" \t\r\n\x00\xef\xbb\xbf\xfe\xff"):
        raise Unreadable(Reason.EMPTY)
    if len(data) > MOST_BYTES:
        raise Unreadable(Reason.TOO_LARGE)
    if b"%PDF-" in data[:1024]:
        return FileType.PDF
    if data.startswith(b"PK\x03\x04"):
        return FileType.DOCX
    refuse_foreign(data)
    head = data[:2000].replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")
    return FileType.HTML if HTML_START.match(head) else FileType.TEXT


def refuse_foreign(data: bytes) -> None:
    if data.startswith(OLE):
        locked = "EncryptedPackage".encode("utf-16-le") in data
        raise Unreadable(Reason.PASSWORD if locked else Reason.OLD_WORD)
    is_webp = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    is_heif = data[4:8] == b"ftyp"
    if is_webp or is_heif or (data.startswith(IMAGES) and b"\x00" in data[:200]):
        raise Unreadable(Reason.IMAGE)
    if data.startswith(ARCHIVES) or data[257:262] == b"ustar":
        raise Unreadable(Reason.ARCHIVE)
    if data.startswith(BINARIES) and (b"\x00" in data[:2000] or data[:1] in b"{%"):
        raise Unreadable(Reason.BINARY)
