"""What became of every clause between two versions."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from rapidfuzz import fuzz

from jobs.contracts.comparing.alignment import Pairs, align
from jobs.contracts.comparing.dependents import rest_on_changes
from jobs.contracts.comparing.normal import Words
from jobs.contracts.reading.clauses import Clause, ClauseKind

# A clause is part of another if so much of its words is found there.
CONTAINED = 92.0
FEWEST_WORDS = 8
NEAR = 3


class Change(StrEnum):
    UNCHANGED = "unchanged"
    RENUMBERED = "renumbered"
    MOVED = "moved"
    CHANGED = "changed"
    ADDED = "added"


SAME_WORDS = {Change.UNCHANGED, Change.RENUMBERED, Change.MOVED}


@dataclass(frozen=True)
class Compared:
    """`split_from` and `merged_from` name clauses of the earlier version besides `earlier`."""

    clause: Clause
    change: Change
    earlier: Clause | None = None
    context_changed: bool = False
    is_moved: bool = False
    split_from: Clause | None = None
    merged_from: tuple[Clause, ...] = ()


@dataclass(frozen=True)
class Comparison:
    clauses: tuple[Compared, ...]
    removed: tuple[Clause, ...]
    counts: dict[str, int] = field(default_factory=dict)


def compare(earlier: Sequence[Clause], later: Sequence[Clause]) -> Comparison:
    old = [Words.of_clause(clause) for clause in earlier]
    new = [Words.of_clause(clause) for clause in later]
    pairs = align(old, new)
    moved = out_of_order(pairs)
    compared = [
        judge(old[pairs[place]] if place in pairs else None, words, place in moved)
        for place, words in enumerate(new)
    ]
    removed = [old[place] for place in range(len(old)) if place not in set(pairs.values())]
    compared = with_splits_and_merges(compared, new, old, pairs)
    compared = with_context(compared, [words.clause for words in removed])
    gone = tuple(words.clause for words in removed)
    return Comparison(tuple(compared), gone, count(compared, gone))


def judge(old: Words | None, new: Words, is_moved: bool) -> Compared:
    if old is None:
        return Compared(new.clause, Change.ADDED)
    if (old.title, old.text) != (new.title, new.text):
        change = Change.CHANGED
    elif is_moved:
        change = Change.MOVED
    elif old.clause.number != new.clause.number:
        change = Change.RENUMBERED
    else:
        change = Change.UNCHANGED
    return Compared(new.clause, change, old.clause, is_moved=is_moved)


def out_of_order(pairs: Pairs) -> set[int]:
    """The fewest places whose removal leaves the pairs in the same order on both sides."""
    places = sorted(pairs)
    tails: list[int] = []
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for place in places:
        spot = bisect_left(tails, pairs[place])
        before[place] = ends[spot - 1] if spot else None
        tails[spot : spot + 1] = [pairs[place]]
        ends[spot : spot + 1] = [place]
    kept: set[int] = set()
    last: int | None = ends[-1] if ends else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return set(places) - kept


def with_splits_and_merges(
    compared: list[Compared], new: list[Words], old: list[Words], pairs: Pairs
) -> list[Compared]:
    """Parts of a clause stay near each other: only neighbours are looked at, so time is linear."""
    result = list(compared)
    places_of_old = {other: place for place, other in pairs.items()}
    gone = [place for place in range(len(old)) if place not in places_of_old]
    for place, one in enumerate(compared):
        if one.change is Change.ADDED:
            near = [at for at in around(place, len(new)) if compared[at].change is Change.CHANGED]
            source = next(
                (old[pairs[at]] for at in near if is_within(new[place], old[pairs[at]])), None
            )
            result[place] = replace(one, split_from=source.clause if source else None)
    for other in gone:
        for at in around(other, len(old)):
            place = places_of_old.get(at, -1)
            if place >= 0 and is_merge(old[other], new[place], compared[place]):
                parts = (*result[place].merged_from, old[other].clause)
                result[place] = replace(result[place], merged_from=parts)
                break
    return result


def around(place: int, count: int) -> list[int]:
    return [at for at in range(place - NEAR, place + NEAR + 1) if 0 <= at < count and at != place]


def is_merge(part: Words, whole: Words, compared: Compared) -> bool:
    return compared.change is Change.CHANGED and is_within(part, whole)


def is_within(part: Words, whole: Words) -> bool:
    if len(part.text.split()) < FEWEST_WORDS or len(part.text) > len(whole.text):
        return False
    return fuzz.partial_ratio(part.text, whole.text, score_cutoff=CONTAINED) >= CONTAINED


def with_context(compared: list[Compared], removed: list[Clause]) -> list[Compared]:
    """Marks by the later version's own numbers and terms."""
    changed = [one.clause for one in compared if one.change is Change.CHANGED]
    gone = [clause for clause in removed if clause.kind is ClauseKind.DEFINITION]
    marked = rest_on_changes([one.clause for one in compared], [*changed, *gone])
    return [
        replace(one, context_changed=one.change in SAME_WORDS and one.clause.position in marked)
        for one in compared
    ]


def count(compared: Sequence[Compared], removed: Sequence[Clause]) -> dict[str, int]:
    """`unchanged` includes the renumbered and the moved."""
    return {
        "total": len(compared),
        "unchanged": sum(one.change in SAME_WORDS for one in compared),
        "renumbered": sum(is_renumbered(one) for one in compared),
        "moved": sum(one.change is Change.MOVED for one in compared),
        "changed": sum(one.change is Change.CHANGED for one in compared),
        "added": sum(one.change is Change.ADDED for one in compared),
        "removed": len(removed),
    }


def is_renumbered(one: Compared) -> bool:
    same = one.change in SAME_WORDS and one.earlier is not None
    return same and one.earlier is not None and one.clause.number != one.earlier.number
