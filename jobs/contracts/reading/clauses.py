"""One clause of a contract, as the splitter hands it on."""

from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    FRONT = "front"
    BODY = "body"
    SCHEDULE = "schedule"


class ClauseKind(StrEnum):
    CLAUSE = "clause"
    DEFINITION = "definition"
    PREFACE = "preface"
    TABLE = "table"
    HEADING = "heading"


@dataclass(frozen=True)
class Clause:
    """`text` is what a person reads below the number and the title.

    `words` is the same without the marks of lists, which a format counts by itself; comparisons use
    it. `parent` is the title of the heading above, or its number where it has no title.
    """

    position: int
    part: Part
    kind: ClauseKind
    number: str
    title: str
    parent: str
    text: str
    words: str
    language: str
    page: int | None

    @property
    def begins(self) -> str:
        return " ".join((self.text or self.title).split()[:6])
