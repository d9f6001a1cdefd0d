"""Lines of a page with their type, and paragraphs and headings made of them."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from pypdf import PageObject

from jobs.contracts.reading.blocks import Block, Kind
from jobs.contracts.reading.formats.plain import clean, join_lines
from jobs.contracts.reading.numbering import parse_number
from jobs.contracts.reading.titles import TERM, is_numbered_title, is_schedule

BOLD = re.compile(r"bold|black|heavy|semibold|demi", re.IGNORECASE)
BULLET = re.compile(r"[•▪●◦○■–-]\s")
ITEM = re.compile(r"\(?(?:[a-zа-я]|[ivx]{1,5}|\d{1,2})[.)]\s")
SENTENCE_ENDS = (".", ":", ";", "!", "?", "”", ".»")
SMALLEST_TYPE = 2.5
FURNITURE_LINES = 6
PAGE_NUMBER = re.compile(
    r"\W*(?:page|página|pág\.?|стр\.?|страница|صفحة)?\W*\d{1,4}(?:\s*(?:/|of|de|из|von)\s*\d{1,4})?\W*",
    re.IGNORECASE,
)


@dataclass
class Line:
    text: str
    page: int
    size: float = 0.0
    y: float = 0.0
    x: float = 0.0
    # Characters at the start in bold type.
    lead: int = 0
    # A blank line, or more room than usual, is above.
    apart: bool = False

    @property
    def is_bold(self) -> bool:
        return self.lead >= len(self.text.rstrip(" .:")) > 0


@dataclass
class Piece:
    text: str
    size: float
    x: float
    y: float
    bold: bool


def lines_of(page: PageObject, number: int) -> tuple[list[Line], int]:
    """The lines in reading order, and how many pieces of text no reader of the page sees."""
    box = page.mediabox
    left, bottom, right, top = (
        float(value) for value in (box.left, box.bottom, box.right, box.top)
    )
    pieces: list[Piece | None] = []
    hidden = 0

    def visit(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        nonlocal hidden
        if not text:
            return
        x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = max(abs(tm[0]), abs(tm[1]), abs(tm[3])) * max(abs(cm[0]), abs(cm[1]), abs(cm[3]))
        outside = not (left - 5 <= x <= right + 5 and bottom - 5 <= y <= top + 5)
        if text.strip() and (outside or 0 < size * scale < SMALLEST_TYPE):
            hidden += 1
            return
        bold = bool(BOLD.search(str((font or {}).get("/BaseFont", ""))))
        pieces.append(Piece(text, size * scale, x, y, bold))

    page.extract_text(visitor_text=visit)
    return make_lines([piece for piece in pieces if piece], number), hidden


def make_lines(pieces: list[Piece], number: int) -> list[Line]:
    lines: list[Line] = []
    current: list[Piece] = []
    blank = False
    for piece in [*pieces, Piece("\n", 0, 0, 0, False)]:
        parts = piece.text.split("\n")
        for place, part in enumerate(parts):
            if place:
                line = make_line(current, number)
                if line:
                    line.apart = blank
                    lines.append(line)
                blank = line is None and bool(lines)
                current = []
            if part:
                current.append(Piece(part, piece.size, piece.x, piece.y, piece.bold))
    mark_gaps(lines)
    return lines


def make_line(pieces: list[Piece], number: int) -> Line | None:
    text = clean("".join(piece.text for piece in pieces))
    stripped = " ".join(text.split())
    if not stripped:
        return None
    shown = [piece for piece in pieces if piece.text.strip()]
    size = max(shown, key=lambda piece: len(piece.text)).size
    lead = 0
    for piece in pieces:
        if not piece.bold and piece.text.strip():
            break
        lead += len(piece.text)
    return Line(stripped, number, round(size, 1), shown[0].y, shown[0].x, min(lead, len(stripped)))


def mark_gaps(lines: list[Line]) -> None:
    gaps = [above.y - below.y for above, below in pairwise(lines)]
    usual = median([gap for gap in gaps if 4 < gap < 40] or [12.0])
    for gap, above, line in zip(gaps, lines, lines[1:], strict=False):
        room = max(usual * 1.35, min(above.size, line.size) * 1.6)
        line.apart = line.apart or gap > room or gap < -usual


def without_furniture(pages: list[list[Line]]) -> tuple[list[list[Line]], int]:
    """Heads, feet and page numbers: what repeats near the same place of many pages."""
    seen: dict[tuple[str, int], set[int]] = defaultdict(set)
    for number, page in enumerate(pages):
        for line in edges(page):
            seen[key_of(line)].add(number)
    enough = max(2, len(pages) * 0.4)
    repeated = {key for key, where in seen.items() if len(where) >= enough and len(pages) > 1}
    kept, dropped = [], 0
    for page in pages:
        outer = {id(line) for line in edges(page)}
        left = [
            line
            for line in page
            if id(line) not in outer or not (key_of(line) in repeated or is_page_number(line, page))
        ]
        dropped += len(page) - len(left)
        kept.append(left)
    return kept, dropped


def edges(page: list[Line]) -> list[Line]:
    by_height = sorted(page, key=lambda line: -line.y)
    return by_height[:FURNITURE_LINES] + by_height[-FURNITURE_LINES:]


def key_of(line: Line) -> tuple[str, int]:
    """A page number changes from page to page; the number of a clause makes the line unique."""
    text = line.text if parse_number(line.text) else re.sub(r"\d+", "#", line.text)
    return text, round(line.y / 8)


def is_page_number(line: Line, page: list[Line]) -> bool:
    heights = sorted(other.y for other in page)
    outermost = line.y in (heights[0], heights[-1]) or line is page[0] or line is page[-1]
    return outermost and bool(PAGE_NUMBER.fullmatch(line.text))


def paragraphs(pages: list[list[Line]]) -> list[Block]:
    lines = [line for page in pages for line in page]
    if not lines:
        return []
    sizes = Counter[float]()
    for line in lines:
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0]
    levels = heading_sizes(lines, body)
    width = sorted(len(line.text) for line in lines)[len(lines) * 4 // 5]
    groups: list[list[Line]] = []
    for line in lines:
        if groups and not opens_paragraph(line, groups[-1][-1], width):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [make_block(group, levels, body) for group in groups]


def heading_sizes(lines: list[Line], body: float) -> dict[float, int]:
    """The sizes larger than that of the text, each a level of headings."""
    large = sorted({line.size for line in lines if line.size > body * 1.08}, reverse=True)
    return {size: min(level, 6) for level, size in enumerate(large, start=1)}


def opens_paragraph(line: Line, before: Line, width: int) -> bool:
    if style_of(line) != style_of(before):
        return True
    turned = line.page != before.page
    if line.apart and not turned:
        return True
    if BULLET.match(line.text) or (TERM.match(line.text) and before.text.endswith(SENTENCE_ENDS)):
        return True
    ended = before.text.endswith(SENTENCE_ENDS) or before.text.isupper()
    short = len(before.text) < width * 0.7
    if ITEM.match(line.text):
        return ended or short or before.text.endswith((",", " and", " or", " y", " o", " и"))
    if parse_number(line.text) and (ended or short):
        return True
    if (is_schedule(line.text) and ended) or (short and is_numbered_title(before.text)):
        return True
    return ended and short and not line.text[:1].islower()


def style_of(line: Line) -> tuple[float, bool]:
    """A bold word that ends a paragraph is no heading: only whole lines count."""
    return line.size, line.is_bold and len(line.text) > 3


def make_block(group: list[Line], levels: dict[float, int], body: float) -> Block:
    text = join_lines([line.text for line in group])
    first = group[0]
    lead = sum(line.lead for line in group) if first.is_bold else first.lead
    level = levels.get(first.size, 0)
    if level and len(text) < 300 and not (text.endswith((".", ";")) and len(text) > 150):
        return Block(Kind.HEADING, text, level, page=first.page, lead=lead)
    if is_bold_heading(group, text):
        return Block(
            Kind.HEADING, text, max(levels.values(), default=0) + 1, page=first.page, lead=lead
        )
    return Block(Kind.PARAGRAPH, text, page=first.page, lead=min(lead, len(text)))


def is_bold_heading(group: list[Line], text: str) -> bool:
    """A short bold line by itself. With a number it is left to the sequence of numbers."""
    if not all(line.is_bold for line in group) or len(text.split()) > 14 or len(text) < 4:
        return False
    return not text.endswith((".", ";", ",", ":")) and not parse_number(text)
