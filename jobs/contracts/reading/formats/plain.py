"""Plain text: the encoding, the line ends, and paragraphs split at blank lines and numbers."""

import codecs
import re
import unicodedata

from charset_normalizer import from_bytes

from jobs.contracts.reading.blocks import Block, Kind
from jobs.contracts.reading.refusals import Reason, Unreadable
from jobs.contracts.reading.titles import is_numbered_title

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
GUESSES = [
    "cp1251",
    "koi8_r",
    "mac_cyrillic",
    "cp1252",
    "cp1256",
    "iso8859_5",
    "cp866",
    "mac_roman",
]
DECLARED = {*GUESSES, "iso_8859_1", "iso_8859_15", "iso_8859_5"}
LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
STARTS_BLOCK = re.compile(
    r"(?:[-•*–]|\(?[\w]{1,3}[.)]|\d+(?:\.\d+)+\.?|§\s*\d+|[“\"«„][^”\"»]{1,60}[”\"»])\s"
)
# A longer line that reads as a title may be wrapped text.
SHORT = 60
UNDERLINE = re.compile(r"[=\-_*~]{3,}")


def decode(data: bytes, declared: str = "") -> tuple[str, bool]:
    """The text, and whether its encoding was guessed. A declared encoding counts if known."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return checked(decode_as(data, encoding)), False
    utf16 = encoding_without_mark(data)
    if utf16:
        return checked(decode_as(data, utf16)), True
    try:
        return checked(data.decode("utf-8")), False
    except UnicodeDecodeError:
        if declared.replace("windows-", "cp").replace("-", "_") in DECLARED:
            return checked(decode_as(data, declared)), False
        return checked(guess(data)), True


def decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unreadable(Reason.ENCODING) from error


def encoding_without_mark(data: bytes) -> str:
    """UTF-16 shows as zero bytes at every second place, at least where there are blanks."""
    head = data[:4000]
    if len(head) < 4 or b"\x00" not in head:
        return ""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 4 * even and odd > len(head) / 20:
        return "utf-16-le"
    return "utf-16-be" if even > 4 * odd and even > len(head) / 20 else ""


def guess(data: bytes) -> str:
    best = from_bytes(data, cp_isolation=GUESSES, threshold=0.3).best()
    if best is None:
        raise Unreadable(Reason.ENCODING)
    return str(best)


def checked(text: str) -> str:
    if len(CONTROLS.findall(text)) > len(text) / 200:
        raise Unreadable(Reason.BINARY)
    return clean(text)


def clean(text: str) -> str:
    """One form of line ends, no control characters, composed letters."""
    text = LINE_ENDS.sub("\n", text.replace("\ufeff", ""))
    return unicodedata.normalize("NFC", CONTROLS.sub("", text))


def read_plain(text: str) -> list[Block]:
    blocks: list[Block] = []
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        line = " ".join(line.split())
        if UNDERLINE.fullmatch(line):
            line = ""
        if lines and (not line or starts_block(line, lines[-1])):
            blocks.append(Block(Kind.PARAGRAPH, join_lines(lines)))
            lines = []
        if line:
            lines.append(line)
    return blocks


def starts_block(line: str, before: str) -> bool:
    if STARTS_BLOCK.match(line) or (before.isupper() and not line.isupper()):
        return True
    return len(before) < SHORT and not line[:1].islower() and is_numbered_title(before)


def join_lines(lines: list[str]) -> str:
    """One paragraph. A word that a hyphen breaks at the end of a line is joined."""
    text = lines[0]
    for line in lines[1:]:
        if text.endswith("\u00ad"):
            text = text[:-1] + line
        elif re.search(r"\w[-‐]$", text) and line[:1].islower():
            text += line
        else:
            text += f" {line}"
    return text.replace("\u00ad", "")
