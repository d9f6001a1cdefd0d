"""Numbers of clauses: how they are written, and which of many candidates form one sequence.

A pattern alone does not make a number a clause: a reference at the start of a line, an item of a
list and a date look the same. `longest_sequence` keeps the candidates that continue each other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

WORDS = (
    "article|section|clause|art[ií]culo|cl[áa]usula|secci[óo]n|статья|пункт|раздел|глава|"
    "المادة|مادة|البند|بند|סעיף|ماده"
)
ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
ORDINALS = {
    word: number
    for number, words in enumerate(
        (
            "primera primero الأولى الاولى first", "segunda segundo الثانية second",
            "tercera tercero الثالثة third", "cuarta cuarto الرابعة fourth",
            "quinta quinto الخامسة fifth", "sexta sexto السادسة sixth",
            "séptima séptimo septima السابعة seventh", "octava octavo الثامنة eighth",
            "novena noveno التاسعة ninth", "décima décimo decima العاشرة tenth",
            "undécima undecima", "duodécima duodecima", "decimotercera", "decimocuarta",
            "decimoquinta", "decimosexta", "decimoséptima", "decimoctava", "decimonovena",
            "vigésima",
        ),
        start=1,
    )
    for word in words.split()
}  # fmt: skip
ARABIC_DIGITS = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", "01234567890123456789")
NUMBERED_WORD = re.compile(
    rf"(?P<word>{WORDS})\s+(?P<number>\d+(?:\.\d+)*|[IVXLC]+\b|[^\W\d_]+)\s*(?P<end>[.:)\-–—]*)",
    re.IGNORECASE,
)
DECIMAL = re.compile(
    r"(?:§\s*)?(?P<number>\d{1,3}(?:\.\d{1,3})*)(?P<end>[.)]|\s*[-–—:]|(?=\s|$))\s*"
)
LETTER = re.compile(r"(?P<number>[A-ZА-Я])(?P<end>[.)])\s+")
UPPER_ROMAN = re.compile(r"(?P<number>[IVXL]{1,7})(?P<end>[.)]|\s[-–—])\s*")
RUN_IN_TITLE = re.compile(r"[A-ZА-ЯÁÉÍÓÚ][\w’'&,/ -]{1,60}\.\s+[A-ZА-ЯÁÉÍÓÚ“\"(]")
MONTHS = re.compile(
    r"(?:de\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic|"
    r"янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек|год|г\.|days?\b|d[íi]as?\b|дн|%|,\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """`shown` is the number as printed without its end mark, `length` its part of the text."""

    key: tuple[int, ...]
    shown: str
    length: int
    scheme: str


def roman(text: str) -> int:
    total = 0
    values = [ROMAN[letter] for letter in text.upper()]
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += -value if value < following else value
    return total


def parse_number(text: str) -> Number | None:
    return parse_word(text) or parse_decimal(text) or parse_letter(text)


def parse_word(text: str) -> Number | None:
    found = NUMBERED_WORD.match(text)
    if not found:
        return None
    written = found["number"]
    if written[0].isdigit():
        key = tuple(int(part) for part in written.translate(ARABIC_DIGITS).split("."))
    elif re.fullmatch("[IVXLC]+", written):
        key = (roman(written),)
    elif written.lower() in ORDINALS:
        key = (ORDINALS[written.lower()],)
    else:
        return None
    rest = text[found.end() :]
    if not found["end"] and not reads_as_title(rest):
        return None
    shown = written if written[0].isdigit() else str(key[0])
    length = found.end() + len(rest) - len(rest.lstrip())
    return Number(key, shown, length, f"word:{found['word'].lower()}")


def reads_as_title(rest: str) -> bool:
    """After `Clause 4` without a mark: nothing, or a title, but no sentence that goes on."""
    rest = rest.strip()
    if RUN_IN_TITLE.match(rest):
        return True
    return not rest or (not rest[0].islower() and len(rest) < 90 and rest[-1] not in ".,;")


def parse_decimal(text: str) -> Number | None:
    latin = text.translate(ARABIC_DIGITS)
    found = DECIMAL.match(latin)
    if not found or found["number"].startswith("0"):
        return None
    rest = text[found.end() :]
    key = tuple(int(part) for part in found["number"].split("."))
    plain = not found["end"].strip() and len(key) == 1
    if MONTHS.match(rest) or rest[:1].islower() or (plain and not rest.isupper()):
        return None
    return Number(key, found["number"], found.end(), "decimal")


def parse_letter(text: str) -> Number | None:
    """A capital letter or a Roman number; which of them is decided by the sequence."""
    found = UPPER_ROMAN.match(text)
    if found and len(found["number"]) > 1:
        return Number((roman(found["number"]),), found["number"], found.end(), "roman")
    found = LETTER.match(text)
    if not found:
        return None
    letter = found["number"]
    first = "A" if letter < "\u0400" else "А"
    return Number((ord(letter) - ord(first) + 1,), letter, found.end(), "letter")


@dataclass(frozen=True)
class Candidate:
    position: int
    key: tuple[int, ...]
    weight: float


def longest_sequence(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The heaviest run of candidates in which each number may follow the one before.

    A single gap is allowed at a price: a number that could not be read must not end the run.
    The time is linear: for each prefix of a number only the best run that ends there is kept.
    """
    best: dict[tuple[int, ...], tuple[float, int]] = {}
    scores: list[float] = []
    before: list[int | None] = []
    for index, candidate in enumerate(candidates):
        score, previous = best_predecessor(candidate.key, best)
        scores.append(score + candidate.weight)
        before.append(previous)
        for depth in range(1, len(candidate.key) + 1):
            prefix = candidate.key[:depth]
            if prefix not in best or scores[index] >= best[prefix][0]:
                best[prefix] = (scores[index], index)
        best_exact = best.get((*candidate.key, 0))
        if best_exact is None or scores[index] >= best_exact[0]:
            best[(*candidate.key, 0)] = (scores[index], index)
    run: list[Candidate] = []
    last = max(range(len(scores)), key=lambda index: scores[index], default=None)
    while last is not None:
        run.append(candidates[last])
        last = before[last]
    return run[::-1]


def best_predecessor(
    key: tuple[int, ...], best: dict[tuple[int, ...], tuple[float, int]]
) -> tuple[float, int | None]:
    *parent, last = key
    options: list[tuple[float, int | None]] = []
    if last == 1 and parent:
        options += [best[(*parent, 0)]] if (*parent, 0) in best else []
        # A parent without a heading of its own: 2.1 after 1.x.
        skipped = (*parent[:-1], parent[-1] - 1)
        options += [(best[skipped][0] - 0.5, best[skipped][1])] if skipped in best else []
    for gap in (1, 2):
        prefix = (*parent, last - gap)
        if prefix in best:
            options.append((best[prefix][0] - (gap - 1) * 1.5, best[prefix][1]))
    start = 0.0 if last == 1 else -1.0 - last / 10
    if not options or max(options)[0] < start:
        return start, None
    return max(options, key=lambda option: option[0])
