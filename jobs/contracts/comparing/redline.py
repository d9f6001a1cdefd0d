"""Word by word: what stayed, what was deleted, what was inserted.

Joined, `equal` and `del` give the earlier text back exactly, `equal` and `ins` the later one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz.distance import Indel

TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*%?|[^\W\d_]+(?:[-'’][^\W\d_]+)*|\s+|.", re.DOTALL)
# Above this many steps a comparison of words is replaced by one of sentences.
MOST_STEPS = 60_000_000


class Step(StrEnum):
    EQUAL = "equal"
    DELETED = "del"
    INSERTED = "ins"


@dataclass(frozen=True)
class Span:
    step: Step
    text: str


FLIPPED = {Step.EQUAL: Step.EQUAL, Step.DELETED: Step.INSERTED, Step.INSERTED: Step.DELETED}


def redline(earlier: str, later: str) -> list[Span]:
    if earlier > later:
        # One direction is computed and turned round, so that both show the same words.
        return joined([Span(FLIPPED[one.step], one.text) for one in redline(later, earlier)])
    if earlier == later:
        return [Span(Step.EQUAL, earlier)] if earlier else []
    before, after = TOKEN.findall(earlier), TOKEN.findall(later)
    if len(before) * len(after) > MOST_STEPS:
        before, after = sentences(earlier), sentences(later)
    return joined(smooth(spans(before, after)))


def sentences(text: str) -> list[str]:
    return re.findall(r".*?(?:[.;:!?]\s+|\n+|$)", text, re.DOTALL)


def spans(before: Sequence[str], after: Sequence[str]) -> list[Span]:
    found: list[Span] = []
    for opcode in Indel.opcodes(before, after):
        if opcode.tag == "equal":
            found.append(Span(Step.EQUAL, "".join(before[opcode.src_start : opcode.src_end])))
            continue
        deleted = "".join(before[opcode.src_start : opcode.src_end])
        inserted = "".join(after[opcode.dest_start : opcode.dest_end])
        found += [Span(Step.DELETED, deleted)] if deleted else []
        found += [Span(Step.INSERTED, inserted)] if inserted else []
    return found


def smooth(found: list[Span]) -> list[Span]:
    """Blanks between two changes belong to them: else a rewritten sentence reads word by word."""
    result: list[Span] = []
    for place, span in enumerate(found):
        inner = 0 < place < len(found) - 1
        if span.step is Step.EQUAL and inner and not span.text.strip():
            result += [Span(Step.DELETED, span.text), Span(Step.INSERTED, span.text)]
        else:
            result.append(span)
    return result


def joined(found: list[Span]) -> list[Span]:
    """Between two equal spans at most one deleted and one inserted span, in this order."""
    result: list[Span] = []
    deleted = inserted = ""
    for span in [*found, Span(Step.EQUAL, "")]:
        if span.step is Step.DELETED:
            deleted += span.text
        elif span.step is Step.INSERTED:
            inserted += span.text
        else:
            result += [Span(Step.DELETED, deleted)] if deleted else []
            result += [Span(Step.INSERTED, inserted)] if inserted else []
            deleted = inserted = ""
            if result and result[-1].step is Step.EQUAL:
                result[-1] = Span(Step.EQUAL, result[-1].text + span.text)
            elif span.text:
                result.append(span)
    return result
