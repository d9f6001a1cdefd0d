"""DOCX: the text as Word shows it with all changes accepted, each part read once."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from jobs.contracts.reading.blocks import Block, Kind
from jobs.contracts.reading.formats.archive import Archive
from jobs.contracts.reading.formats.docx_numbers import Numbers
from jobs.contracts.reading.formats.docx_styles import Styles, attribute, child, children, local
from jobs.contracts.reading.refusals import Reason, Unreadable

DELETED = {"del", "moveFrom"}
INSERTED = {"ins", "moveTo"}
TRANSPARENT = {
    "hyperlink", "smartTag", "fldSimple", "sdt", "sdtContent", "customXml", "dir", "bdo",
    "ins", "moveTo", "Choice", "subDoc",
}  # fmt: skip
MARKS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": "", "ptab": " "}
NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}


class Reader:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        archive.refuse_nested()
        self.main = archive.main_part() or "word/document.xml"
        root = archive.xml(self.main)
        if root is None or local(root) != "document":
            raise Unreadable(Reason.ARCHIVE)
        self.relations = archive.relations(self.main)
        self.root = root
        self.styles = Styles(self.related("styles"))
        self.numbers = Numbers(self.related("numbering"), self.styles)
        self.notes = {kind: self.read_notes(kind) for kind in NOTES.values()}
        self.remarks: Counter[str] = Counter()
        self.boxes: list[etree._Element] = []
        self.noted: list[str] = []
        self.carried = ""

    def related(self, kind: str) -> etree._Element | None:
        name = next((target for type_, target in self.relations.values() if type_ == kind), "")
        return self.archive.xml(name)

    def read_notes(self, kind: str) -> dict[str, etree._Element]:
        root = self.related(kind)
        notes = [] if root is None else list(root)
        return {attribute(note, "id"): note for note in notes if not attribute(note, "type")}

    def read(self) -> list[Block]:
        blocks = list(self.blocks_in(child(self.root, "body")))
        self.remark_parts()
        return [block for block in blocks if block.text.strip()]

    def remark_parts(self) -> None:
        names = self.archive.names
        if any(name.lower().endswith("vbaproject.bin") for name in names):
            self.remarks["macros_ignored"] += 1
        if any("/embeddings/" in name for name in names):
            self.remarks["embedded_left_out"] += 1
        comments = self.related("comments")
        if comments is not None and len(comments):
            self.remarks["comments_left_out"] += len(comments)
        for kind in ("header", "footer"):
            parts = [target for type_, target in self.relations.values() if type_ == kind]
            roots = [self.archive.xml(part) for part in parts]
            if any(root is not None and "".join(root.itertext()).strip() for root in roots):
                self.remarks["headers_left_out"] += 1

    def blocks_in(self, parent: etree._Element | None) -> Iterator[Block]:
        for element in [] if parent is None else parent:
            name = local(element)
            if name == "p":
                yield from self.paragraph(element)
            elif name == "tbl":
                yield from self.table(element)
            elif name in TRANSPARENT:
                self.remarks["insertions_kept"] += name in INSERTED
                yield from self.blocks_in(element)
            elif name in DELETED:
                self.remarks["deletions_left_out"] += 1
            elif name == "altChunk":
                self.remarks["embedded_left_out"] += 1
            elif name == "AlternateContent":
                yield from self.blocks_in(branch(element))

    def paragraph(self, element: etree._Element) -> Iterator[Block]:
        text, lead = self.text_of(element)
        boxes, self.boxes = self.boxes, []
        noted, self.noted = self.noted, []
        text = self.carried + text
        self.carried = ""
        if is_mark_deleted(element):
            # The paragraph goes on in the next one.
            self.carried = text
            text = ""
        if text.strip():
            yield self.block(element, " ".join(text.split()), lead)
        for box in boxes:
            yield from self.blocks_in(box)
        for note in noted:
            yield Block(Kind.PARAGRAPH, note)

    def block(self, element: etree._Element, text: str, lead: int) -> Block:
        numbered = self.numbers.next(element)
        level = self.styles.outline_level(element)
        number, depth = numbered or ("", 0)
        lead = min(lead, len(text))
        if level:
            return Block(Kind.HEADING, text, level, "" if number == "•" else number, lead=lead)
        if number:
            return Block(Kind.ITEM, text, depth, number, lead=lead)
        return Block(Kind.PARAGRAPH, text, lead=lead)

    def text_of(self, paragraph: etree._Element) -> tuple[str, int]:
        pieces: list[tuple[str, bool]] = []
        self.collect(paragraph, paragraph, pieces)
        text = "".join(piece for piece, _ in pieces)
        lead = 0
        for piece, bold in pieces:
            if not bold and piece.strip():
                break
            lead += len(piece)
        return text, lead

    def collect(
        self, element: etree._Element, paragraph: etree._Element, pieces: list[tuple[str, bool]]
    ) -> None:
        for one in element:
            name = local(one)
            if name == "r":
                self.collect_run(one, paragraph, pieces)
            elif name in DELETED:
                self.remarks["deletions_left_out"] += 1
            elif name in TRANSPARENT:
                self.remarks["insertions_kept"] += name in INSERTED
                self.collect(one, paragraph, pieces)
            elif name == "AlternateContent":
                self.collect(branch(one), paragraph, pieces)

    def collect_run(
        self, run: etree._Element, paragraph: etree._Element, pieces: list[tuple[str, bool]]
    ) -> None:
        if self.styles.is_on("vanish", run, paragraph):
            self.remarks["hidden_left_out"] += any(local(one) == "t" for one in run)
            return
        bold = self.styles.is_on("b", run, paragraph)
        for one in run:
            name = local(one)
            if name == "t":
                pieces.append((one.text or "", bold))
            elif name in MARKS:
                pieces.append((MARKS[name], bold))
            elif name in NOTES:
                self.add_note(NOTES[name], attribute(one, "id"), pieces)
            elif name in {"drawing", "pict", "AlternateContent", "object"}:
                chosen = branch(one) if name == "AlternateContent" else one
                self.boxes += outermost(chosen, "txbxContent")

    def add_note(self, kind: str, number: str, pieces: list[tuple[str, bool]]) -> None:
        note = self.notes[kind].pop(number, None)
        if note is None:
            return
        words = " ".join(self.text_of(paragraph)[0] for paragraph in children(note, "p"))
        pieces.append((f"[{number}]", False))
        self.noted.append(f"[{number}] {' '.join(words.split())}")

    def table(self, table: etree._Element) -> Iterator[Block]:
        rows = [row for row in wrapped(table, "tr") if not is_row_deleted(row)]
        cells = [wrapped(row, "tc") for row in rows]
        if all(len(row) == 1 for row in cells):
            # A box around text, not a table.
            for row in cells:
                for cell in row:
                    yield from self.blocks_in(cell)
            return
        lines = ["\t".join(self.cell(cell) for cell in row) for row in cells]
        yield Block(Kind.TABLE, "\n".join(line for line in lines if line.strip()))

    def cell(self, cell: etree._Element) -> str:
        merged = child(child(cell, "tcPr"), "vMerge")
        if merged is not None and attribute(merged, "val") != "restart":
            return ""
        blocks = [block for block in self.blocks_in(cell) if block.text.strip()]
        return " ".join(cell_text(block) for block in blocks)


def cell_text(block: Block) -> str:
    text = " ".join(block.text.split())
    return f"{block.number} {text}" if block.number else text


def wrapped(parent: etree._Element, name: str) -> list[etree._Element]:
    """Children of this name, also those inside content controls."""
    found: list[etree._Element] = []
    for one in parent:
        if local(one) == name:
            found.append(one)
        elif local(one) in TRANSPARENT:
            found += wrapped(one, name)
    return found


def outermost(element: etree._Element, name: str) -> list[etree._Element]:
    if local(element) == name:
        return [element]
    if local(element) == "AlternateContent":
        return outermost(branch(element), name)
    return [found for one in element for found in outermost(one, name)]


def branch(element: etree._Element) -> etree._Element:
    """A shape has a modern and a legacy copy of its text: one of them is read."""
    chosen = child(element, "Choice")
    return chosen if chosen is not None else next(iter(element), element)


def is_mark_deleted(paragraph: etree._Element) -> bool:
    return child(child(child(paragraph, "pPr"), "rPr"), "del") is not None


def is_row_deleted(row: etree._Element) -> bool:
    return child(child(row, "trPr"), "del") is not None


def read_docx(data: bytes) -> tuple[list[Block], list[tuple[str, int]]]:
    reader = Reader(Archive(data))
    blocks = [replace(block, text=block.text.strip()) for block in reader.read()]
    return blocks, sorted((code, count) for code, count in reader.remarks.items() if count)
