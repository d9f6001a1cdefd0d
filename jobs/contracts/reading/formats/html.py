"""HTML: the visible text in order, with the numbers that a browser shows for lists."""

import re
from collections.abc import Iterator

from lxml import etree
from lxml import html as lxml_html

from jobs.contracts.reading.blocks import Block, Kind

HIDDEN = {"script", "style", "template", "head", "noscript", "nav", "svg", "button", "select"}
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
INLINE = set("a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s "  # noqa: SIM905
             "samp small span strike strong sub sup time tt u var wbr img".split())  # fmt: skip
STRONG = {"b", "strong", "u"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}


class Reader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.text = ""
        self.lead = 0
        self.leading = True
        self.strong = 0
        self.heading = 0
        self.depth = -1
        self.number = ""
        self.hidden = 0

    def flush(self) -> None:
        text = " ".join(self.text.split())
        if text:
            kind, level, number = Kind.PARAGRAPH, 0, self.number
            if self.heading:
                kind, level = Kind.HEADING, self.heading
            elif number:
                kind, level = Kind.ITEM, self.depth
            self.blocks.append(Block(kind, text, level, number, lead=min(self.lead, len(text))))
            self.number = ""
        self.text, self.lead, self.leading = "", 0, True

    def add(self, text: str | None) -> None:
        if not text:
            return
        self.text += text
        self.leading = self.leading and (bool(self.strong) or not text.strip())
        if self.leading:
            self.lead = len(self.text.strip())

    def visit(self, element: etree._Element) -> None:
        """Without recursion into Python's limit: lxml itself stops at 256 levels."""
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in HIDDEN or is_hidden(element):
            self.hidden += bool(tag) and tag not in HIDDEN
        elif tag == "br":
            self.flush()
        elif tag == "table" and not is_layout(element):
            self.flush()
            self.add_table(element)
        elif tag in INLINE:
            self.strong += tag in STRONG
            self.visit_content(element)
            self.strong -= tag in STRONG
        else:
            self.flush()
            self.visit_block(element, tag)
            self.flush()
        self.add(element.tail)

    def visit_block(self, element: etree._Element, tag: str) -> None:
        is_list = tag in {"ol", "ul"}
        self.depth += is_list
        self.heading = HEADINGS.get(tag, self.heading)
        if tag == "li":
            self.number = item_number(element)
        self.visit_content(element)
        self.flush()
        if tag in HEADINGS:
            self.heading = 0
        self.depth -= is_list

    def visit_content(self, element: etree._Element) -> None:
        self.add(element.text)
        for child in element:
            self.visit(child)

    def add_table(self, table: etree._Element) -> None:
        rows = [
            "\t".join(" ".join("".join(visible_text(cell)).split()) for cell in row)
            for row in table.iter("tr")
        ]
        if "".join(rows).strip():
            self.blocks.append(Block(Kind.TABLE, "\n".join(rows)))


def is_hidden(element: etree._Element) -> bool:
    return element.get("hidden") is not None or bool(HIDDEN_STYLE.search(element.get("style", "")))


def is_layout(table: etree._Element) -> bool:
    """A table that frames the text: one column, or other blocks of a contract inside its cells."""
    rows = list(table.iter("tr"))
    return all(len(row) < 2 for row in rows) or any(True for _ in table.iter("h1", "h2", "h3"))


def visible_text(element: etree._Element) -> Iterator[str]:
    if not isinstance(element.tag, str) or element.tag in HIDDEN or is_hidden(element):
        return
    yield element.text or ""
    for child in element:
        yield from visible_text(child)
        yield child.tail or ""
        yield "" if child.tag in INLINE else " "


def item_number(item: etree._Element) -> str:
    parent = item.getparent()
    if parent is None or parent.tag != "ol":
        return "•"
    items = [child for child in parent if child.tag == "li"]
    start = parent.get("start", "1")
    count = int(start) if re.fullmatch(r"-?\d{1,6}", start) else 1
    for other in items:
        value = other.get("value", "")
        count = int(value) if re.fullmatch(r"-?\d{1,6}", value) else count
        if other is item:
            break
        count += 1
    return f"{styled(count, parent.get('type', '1'))}."


def styled(count: int, style: str) -> str:
    if style in {"a", "A"} and 0 < count < 27:
        return chr(ord(style) + count - 1)
    return str(count)


def read_html(text: str) -> list[Block]:
    if not text.strip():
        return []
    parser = lxml_html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
    root = lxml_html.document_fromstring(text, parser=parser, ensure_head_body=True)
    reader = Reader()
    body = root.find("body")
    reader.visit(root if body is None else body)
    reader.flush()
    return reader.blocks
