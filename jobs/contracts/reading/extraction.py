"""The bytes of a file into blocks: what it is is decided by its content, then its reader runs."""

import re

from jobs.contracts.reading.blocks import Block, Extract, Kind
from jobs.contracts.reading.filetypes import FileType, detect
from jobs.contracts.reading.formats.docx import read_docx
from jobs.contracts.reading.formats.html import read_html
from jobs.contracts.reading.formats.markdown import is_markdown, read_markdown
from jobs.contracts.reading.formats.pdf import read_pdf
from jobs.contracts.reading.formats.plain import decode, read_plain
from jobs.contracts.reading.refusals import Reason, Unreadable

MOST_CHARACTERS = 10_000_000
MARKDOWN_NAMES = (".md", ".markdown", ".mdown")
CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w-]{3,20})", re.IGNORECASE)


def extract(data: bytes, name: str = "") -> Extract:
    kind = detect(data)
    remarks: list[tuple[str, int]] = []
    type_ = str(kind)
    if kind is FileType.PDF:
        blocks, remarks = read_pdf(data)
    elif kind is FileType.DOCX:
        blocks, remarks = read_docx(data)
    else:
        type_, blocks, remarks = read_text(data, name, kind)
    characters = sum(len(block.text) for block in blocks)
    if characters > MOST_CHARACTERS:
        raise Unreadable(Reason.TOO_MUCH_TEXT)
    if not any(any(map(str.isalnum, block.text)) for block in blocks):
        raise Unreadable(Reason.NO_TEXT)
    if any(block.kind is Kind.TABLE for block in blocks):
        remarks = [*remarks, ("tables", sum(block.kind is Kind.TABLE for block in blocks))]
    return Extract(type_, tuple(blocks), tuple(remarks))


def read_text(
    data: bytes, name: str, kind: FileType
) -> tuple[str, list[Block], list[tuple[str, int]]]:
    text, guessed = decode(data, declared_charset(data) if kind is FileType.HTML else "")
    if len(text) > MOST_CHARACTERS:
        raise Unreadable(Reason.TOO_MUCH_TEXT)
    remarks = [("encoding_guessed", 1)] if guessed else []
    if kind is FileType.HTML:
        return "html", read_html(text), remarks
    if name.lower().endswith(MARKDOWN_NAMES):
        return "markdown", read_markdown(text), remarks
    blocks = read_markdown(text) if is_markdown(text) else read_plain(text)
    return "text", blocks, remarks


def declared_charset(data: bytes) -> str:
    found = CHARSET.search(data[:4000])
    return found[1].decode("ascii").lower() if found else ""
