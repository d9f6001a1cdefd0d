"""What a paragraph or a run inherits from its styles: outline level, numbering, bold, hidden."""

import re

from lxml import etree

OFF = {"0", "false", "off", "none"}
HEADING_NAME = re.compile(r"(?:heading|título|заголовок)\s*(\d)?", re.IGNORECASE)
MOST_STEPS = 12


def local(element: etree._Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def attribute(element: etree._Element | None, name: str) -> str:
    """By its local name: files in the strict dialect use another namespace."""
    if element is None:
        return ""
    for key, value in element.attrib.items():
        if etree.QName(key).localname == name:
            return str(value)
    return ""


def children(element: etree._Element | None, name: str) -> list[etree._Element]:
    return [] if element is None else [one for one in element if local(one) == name]


def child(element: etree._Element | None, name: str) -> etree._Element | None:
    return next(iter(children(element, name)), None)


class Styles:
    def __init__(self, root: etree._Element | None) -> None:
        self.styles = {attribute(style, "styleId"): style for style in children(root, "style")}
        self.default = next(
            (
                name
                for name, style in self.styles.items()
                if attribute(style, "type") == "paragraph"
                and attribute(style, "default") in {"1", "true"}
            ),
            "",
        )

    def chain(self, name: str) -> list[etree._Element]:
        """The style and those it is based on, nearest first."""
        found: list[etree._Element] = []
        while name in self.styles and len(found) < MOST_STEPS:
            found.append(self.styles[name])
            name = attribute(child(self.styles[name], "basedOn"), "val")
        return found

    def of_paragraph(self, paragraph: etree._Element) -> list[etree._Element]:
        properties = child(paragraph, "pPr")
        name = attribute(child(properties, "pStyle"), "val") or self.default
        return self.chain(name)

    def outline_level(self, paragraph: etree._Element) -> int:
        """From 1; 0 for running text. A style counts by its outline level or by its name."""
        for owner in [paragraph, *self.of_paragraph(paragraph)]:
            level = attribute(child(child(owner, "pPr"), "outlineLvl"), "val")
            if level:
                return int(level) + 1 if int(level) < 9 else 0
        for style in self.of_paragraph(paragraph)[:2]:
            name = attribute(child(style, "name"), "val")
            found = HEADING_NAME.search(name)
            if found:
                return int(found[1] or (3 if "clause" in name.lower() else 2))
            if re.search(r"\btitle$", name, re.IGNORECASE) or name.lower().endswith("title"):
                return 2 if "section" in name.lower() else 1
        return 0

    def numbering(self, paragraph: etree._Element) -> tuple[str, int]:
        """The id of the list and the depth; the paragraph's own properties win, each by itself."""
        number, depth = "", ""
        for owner in [paragraph, *self.of_paragraph(paragraph)]:
            properties = child(child(owner, "pPr"), "numPr")
            number = number or attribute(child(properties, "numId"), "val")
            depth = depth or attribute(child(properties, "ilvl"), "val")
        return number, int(depth or 0)

    def is_on(self, name: str, run: etree._Element, paragraph: etree._Element) -> bool:
        """Whether a toggle such as `vanish` is on; present with the value off means off."""
        properties = child(run, "rPr")
        style = attribute(child(properties, "rStyle"), "val")
        for owner in [run, *self.chain(style), *self.of_paragraph(paragraph)]:
            toggle = child(child(owner, "rPr"), name)
            if toggle is not None:
                return attribute(toggle, "val").lower() not in OFF
        return False
