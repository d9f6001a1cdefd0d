"""PDF: the text layer page by page, with what a viewer draws on top of it."""

import io
import re
from collections.abc import Iterator
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError, PyPdfError
from pypdf.generic import DictionaryObject

from jobs.contracts.reading.blocks import Block, Kind
from jobs.contracts.reading.formats.pdf_layout import Line, lines_of, paragraphs, without_furniture
from jobs.contracts.reading.refusals import Reason, Unreadable

MOST_PAGES = 500
# Fewer letters than this on a page count as no text.
FEWEST_LETTERS = 12
MOST_GARBAGE = 0.15
GARBAGE = re.compile(r"[\ue000-\uf8ff\ufffd\x00-\x08\x0e-\x1f\x7f-\x9f]|\(cid:\d+\)|/g\d+")
WORD = re.compile(r"[^\W\d_]{2,}")
Remarks = list[tuple[str, int]]
# What damaged files make pypdf raise besides its own errors.
DAMAGE = (
    PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, OSError,
    RecursionError, OverflowError, AssertionError, NotImplementedError,
    ZeroDivisionError,
)  # fmt: skip


def read_pdf(data: bytes) -> tuple[list[Block], Remarks]:
    try:
        return Reader(data).read()
    except (DependencyError, FileNotDecryptedError) as error:
        raise Unreadable(Reason.PASSWORD) from error
    except LimitReachedError as error:
        raise Unreadable(Reason.BOMB) from error
    except DAMAGE as error:
        raise Unreadable(Reason.DAMAGED) from error


class Reader:
    def __init__(self, data: bytes) -> None:
        self.file = PdfReader(io.BytesIO(data))
        if self.file.is_encrypted and not self.file.decrypt(""):
            raise Unreadable(Reason.PASSWORD)
        if len(self.file.pages) > MOST_PAGES:
            raise Unreadable(Reason.TOO_MANY_PAGES)
        self.remarks: dict[str, int] = {}

    def read(self) -> tuple[list[Block], Remarks]:
        pages = [self.read_page(number) for number in range(len(self.file.pages))]
        self.refuse_other_kinds(pages)
        self.check_text(pages)
        kept, dropped = without_furniture(pages)
        if dropped:
            self.remarks["running_heads_left_out"] = dropped
        blocks = paragraphs(kept)
        for number, page in enumerate(self.file.pages, start=1):
            blocks = insert_filled(blocks, list(filled_in(page)), number, self.remarks)
        return blocks, sorted(self.remarks.items())

    def read_page(self, number: int) -> list[Line]:
        lines, hidden = lines_of(self.file.pages[number], number + 1)
        if hidden:
            self.remarks["hidden_left_out"] = self.remarks.get("hidden_left_out", 0) + hidden
        return lines

    def refuse_other_kinds(self, pages: list[list[Line]]) -> None:
        root = resolved(self.file.trailer["/Root"])
        text = " ".join(line.text for page in pages[:2] for line in page).lower()
        form = resolved(root.get("/AcroForm"))
        if isinstance(form, DictionaryObject) and "/XFA" in form and "please wait" in text:
            raise Unreadable(Reason.XFA)
        if "/Collection" in root and len(text) < 2000:
            raise Unreadable(Reason.PORTFOLIO)

    def check_text(self, pages: list[list[Line]]) -> None:
        """Each page by itself: a cover that can be read must not hide ten that cannot."""
        texts = [" ".join(line.text for line in page) for page in pages]
        letters = [sum(map(str.isalnum, text)) for text in texts]
        empty = sum(count < FEWEST_LETTERS for count in letters)
        garbage = sum(is_garbage(text) for text in texts)
        if empty == len(pages) and not garbage:
            raise Unreadable(Reason.SCAN if self.has_images() else Reason.NO_TEXT)
        if garbage * 2 > len(pages) - empty:
            raise Unreadable(Reason.GARBAGE)
        if garbage:
            self.remarks["pages_garbled"] = garbage
        if empty:
            self.remarks["pages_without_text"] = empty

    def has_images(self) -> bool:
        for page in self.file.pages:
            objects = resolved(resolved(page.get("/Resources") or {}).get("/XObject") or {})
            if any(resolved(one).get("/Subtype") == "/Image" for one in objects.values()):
                return True
        return False


def resolved(value: Any) -> Any:
    return value.get_object() if hasattr(value, "get_object") else value


def is_garbage(text: str) -> bool:
    """Codes instead of letters, or letters without any word of a language."""
    letters = sum(not one.isspace() for one in text)
    if letters < FEWEST_LETTERS:
        return False
    if len("".join(GARBAGE.findall(text))) > letters * MOST_GARBAGE:
        return True
    inside_words = sum(len(word) for word in WORD.findall(text))
    vowels = len(re.findall(r"[aeiouyáéíóúаеёиоуыэюя]", text.lower()))
    latin = len(re.findall(r"[a-zа-яё]", text.lower()))
    odd_vowels = latin > 200 and not 0.2 < vowels / latin < 0.65
    return (letters > 200 and inside_words < letters * 0.35) or odd_vowels


def filled_in(page: DictionaryObject) -> Iterator[str]:
    """Values of form fields and typed-over notes: a viewer draws them, no text layer has them."""
    for reference in resolved(page.get("/Annots")) or []:
        note = resolved(reference)
        if not isinstance(note, DictionaryObject):
            continue
        if note.get("/Subtype") == "/FreeText":
            yield str(note.get("/Contents", ""))
        elif note.get("/Subtype") == "/Widget":
            yield field_value(note)


def field_value(field: DictionaryObject) -> str:
    parent = resolved(field.get("/Parent")) or {}
    value = field.get("/V", parent.get("/V"))
    name = str(field.get("/T", parent.get("/T", "")))
    if value is None or field.get("/FT", parent.get("/FT")) == "/Sig":
        return ""
    text = str(resolved(value)).strip()
    return f"{name}: {text.removeprefix('/')}" if text and text != "/Off" else ""


def insert_filled(
    blocks: list[Block], values: list[str], page: int, remarks: dict[str, int]
) -> list[Block]:
    values = [" ".join(value.split()) for value in values if value.strip()]
    if not values:
        return blocks
    remarks["filled_in"] = remarks.get("filled_in", 0) + len(values)
    after = sum((block.page or 0) <= page for block in blocks)
    new = [Block(Kind.PARAGRAPH, f"[{value}]", page=page) for value in values]
    return [*blocks[:after], *new, *blocks[after:]]
