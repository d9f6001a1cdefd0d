"""The numbers that Word prints for paragraphs: counted in document order, tables included."""

import re
from dataclasses import dataclass, field

from lxml import etree

from jobs.contracts.reading.formats.docx_styles import Styles, attribute, child, children

RUSSIAN = "абвгдежзиклмнопрстуфхцчшщэюя"
ROMANS = [
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
]  # fmt: skip


@dataclass
class Level:
    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: int | None = None
    legal: bool = False


@dataclass
class Counters:
    values: dict[int, int] = field(default_factory=dict)


class Numbers:
    def __init__(self, root: etree._Element | None, styles: Styles) -> None:
        self.styles = styles
        self.abstract: dict[str, dict[int, Level]] = {}
        self.instances: dict[str, str] = {}
        self.overrides: dict[str, dict[int, int]] = {}
        self.replaced: dict[str, dict[int, Level]] = {}
        self.counters: dict[str, Counters] = {}
        self.started: set[tuple[str, int]] = set()
        for element in children(root, "abstractNum"):
            levels = {
                int(attribute(one, "ilvl") or 0): read_level(one)
                for one in children(element, "lvl")
            }
            self.abstract[attribute(element, "abstractNumId")] = levels
        for element in children(root, "num"):
            self.read_instance(element)

    def read_instance(self, element: etree._Element) -> None:
        number = attribute(element, "numId")
        self.instances[number] = attribute(child(element, "abstractNumId"), "val")
        for override in children(element, "lvlOverride"):
            level = int(attribute(override, "ilvl") or 0)
            start = attribute(child(override, "startOverride"), "val")
            if start:
                self.overrides.setdefault(number, {})[level] = int(start)
            replaced = child(override, "lvl")
            if replaced is not None:
                self.replaced.setdefault(number, {})[level] = read_level(replaced)

    def next(self, paragraph: etree._Element) -> tuple[str, int] | None:
        """The number to print before this paragraph and its depth; None without one."""
        number, depth = self.styles.numbering(paragraph)
        if not number or number == "0" or number not in self.instances:
            return None
        levels = {**self.abstract.get(self.instances[number], {}), **self.replaced.get(number, {})}
        if depth not in levels:
            return None
        counters = self.counters.setdefault(self.instances[number], Counters())
        self.count(number, depth, levels, counters)
        return shown(levels, depth, counters), depth

    def count(self, number: str, depth: int, levels: dict[int, Level], counters: Counters) -> None:
        values = counters.values
        override = self.overrides.get(number, {}).get(depth)
        if override is not None and (number, depth) not in self.started:
            values[depth] = override
        else:
            values[depth] = values[depth] + 1 if depth in values else levels[depth].start
        self.started.add((number, depth))
        for above in range(depth):
            if above not in values and above in levels:
                values[above] = levels[above].start
        for below in [one for one in values if one > depth]:
            restart = levels[below].restart if below in levels else None
            if restart is None or 0 < depth + 1 <= restart:
                del values[below]


def read_level(element: etree._Element) -> Level:
    restart = attribute(child(element, "lvlRestart"), "val")
    return Level(
        start=int(attribute(child(element, "start"), "val") or 1),
        format=attribute(child(element, "numFmt"), "val") or "decimal",
        text=attribute(child(element, "lvlText"), "val"),
        restart=int(restart) if restart else None,
        legal=child(element, "isLgl") is not None,
    )


def shown(levels: dict[int, Level], depth: int, counters: Counters) -> str:
    level = levels[depth]
    if level.format == "bullet":
        return "•"
    if level.format == "none":
        return ""

    def value(found: re.Match[str]) -> str:
        place = int(found[1]) - 1
        count = counters.values.get(place, levels[place].start if place in levels else 1)
        style = (
            "decimal" if level.legal else (levels[place].format if place in levels else "decimal")
        )
        return formatted(count, style)

    return re.sub(r"%(\d)", value, level.text).strip()


def formatted(count: int, style: str) -> str:
    if style.endswith("Roman"):
        text = roman(count)
    elif style.endswith("Letter"):
        text = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
    elif style.startswith("russian"):
        text = RUSSIAN[(count - 1) % len(RUSSIAN)]
    elif style == "decimalZero":
        text = f"{count:02}"
    else:
        text = str(count)
    return text.upper() if style.startswith("upper") or style == "russianUpper" else text


def roman(count: int) -> str:
    text = ""
    for value, letters in ROMANS:
        text += letters * (count // value)
        count %= value
    return text
