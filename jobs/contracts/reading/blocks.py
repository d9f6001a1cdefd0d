"""What every format is turned into: blocks of text in reading order.

A block is a heading, a paragraph, an item of a list or a table. Its text holds no markup. The
number of an item that the format counts by itself is in `number`; a typed number stays in the text.
"""

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    TABLE = "table"


@dataclass(frozen=True)
class Block:
    kind: Kind
    text: str
    # Of a heading from 1, of an item the depth of its list from 0.
    level: int = 0
    number: str = ""
    page: int | None = None
    # How many characters at the start are bold or underlined.
    lead: int = 0


@dataclass(frozen=True)
class Extract:
    """`remarks` are pairs of a code and a count: the page puts them into words."""

    type: str
    blocks: tuple[Block, ...]
    remarks: tuple[tuple[str, int], ...] = field(default=())

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Extract":
        blocks = tuple(Block(**{**block, "kind": Kind(block["kind"])}) for block in data["blocks"])
        remarks = tuple((code, count) for code, count in data["remarks"])
        return cls(type=data["type"], blocks=blocks, remarks=remarks)


def on_page(blocks: list[Block], page: int) -> list[Block]:
    return [replace(block, page=page) for block in blocks]
