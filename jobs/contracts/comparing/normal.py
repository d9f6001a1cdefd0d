"""Two forms of a clause's words: loose to compare, strict to use an earlier analysis again."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from jobs.contracts.reading.clauses import Clause

TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″〝〞", '"'),
        **dict.fromkeys("‘’‚‛′`´ʼ", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200e\u200f\u2060\ufeff", ""),
    }
)
SUPERSCRIPTS = re.compile(r"([⁰¹²³⁴⁵⁶⁷⁸⁹₀-₉]+)")
LIST_MARK = re.compile(r"(?m)^[ \t]*(?:[•▪●◦○■*·-]|\d{1,3}[.)])[ \t]+")
DOUBLE_QUOTES = re.compile(r"''")
SPACED_DASH = re.compile(r"\s+-\s+")
MARKS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")


def loose(text: str) -> str:
    """What two versions must share to count as the same: letters, digits, signs and their order."""
    text = SUPERSCRIPTS.sub(r"^\1", text)
    text = unicodedata.normalize("NFKC", text).translate(TYPOGRAPHY)
    text = LIST_MARK.sub("", text)
    text = MARKS.sub("", DOUBLE_QUOTES.sub('"', text))
    text = SPACED_DASH.sub(" - ", text)
    text = re.sub(r"\s+([.,;:!?)\]])", r"\1", text)
    text = re.sub(r"([(\[])\s+", r"\1", text)
    return " ".join(text.split())


def strict(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Words:
    """The forms of one clause, made once."""

    clause: Clause
    title: str
    text: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}"

    @classmethod
    def of_clause(cls, clause: Clause) -> "Words":
        return cls(clause, loose(clause.title).rstrip(".:"), loose(clause.words))
