"""Clauses whose own words are the same while something they rest on has changed."""

import re
from collections.abc import Iterable

from jobs.contracts.reading.clauses import Clause, ClauseKind, Part
from jobs.contracts.reading.numbering import WORDS

REFERENCE = re.compile(
    rf"(?:{WORDS}|sections|clauses|articles|cl[áa]usulas|art[ií]culos|пункт\w*|стать\w*|раздел\w*|§)\s*"
    r"(?P<numbers>(?:\d+|[A-Z](?=\.\d))(?:\.\d+)*(?:(?:\s*,\s*|\s*\([^)]{0,80}\)|\s+and\s+|\s+or\s+|\s+y\s+|\s+и\s+)"
    r"(?:\d+(?:\.\d+)*)?)*)",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w.])(?:\d+|[A-Z](?=\.\d))(?:\.\d+)*(?![\w])")


def references(text: str) -> set[str]:
    """The numbers of clauses that this text names."""
    return {
        number for found in REFERENCE.finditer(text) for number in NUMBER.findall(found["numbers"])
    }


def rest_on_changes(clauses: Iterable[Clause], changed: Iterable[Clause]) -> set[int]:
    """The positions of clauses that use a changed definition or name a changed clause."""
    changed = list(changed)
    terms = [
        clause.title for clause in changed if clause.kind is ClauseKind.DEFINITION and clause.title
    ]
    pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, terms)) + r")(?:s|es)?(?!\w)")
    numbers = {(clause.part is Part.SCHEDULE, clause.number) for clause in changed if clause.number}
    found: set[int] = set()
    for clause in clauses:
        in_schedule = clause.part is Part.SCHEDULE
        named = {(in_schedule, number) for number in references(clause.text)}
        uses = bool(terms) and bool(pattern.search(clause.text))
        if uses or named & (numbers - {(in_schedule, clause.number)}):
            found.add(clause.position)
    return found
