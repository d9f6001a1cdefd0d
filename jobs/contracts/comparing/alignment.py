"""Which clause of the later version continues which clause of the earlier one.

1. The same words: in order where they are unique, else by number, heading above and order.
2. The same number and title, or a title that occurs once in each.
3. By likeness of the words, with the heading above as a hint, over all that is left at once. The
   best pair comes first, so that a swap of two similar clauses is no double rewrite.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from rapidfuzz import fuzz, process

from jobs.contracts.comparing.normal import Words
from jobs.contracts.reading.clauses import Part

Pairs = dict[int, int]
LEAST_LIKENESS = 62.0
LEAST_WITH_TITLE = 15.0
SAME_PARENT = 6.0
SAME_TITLE = 25.0
SAME_NUMBER = 4.0
MOST_HINTS = SAME_PARENT + SAME_TITLE + SAME_NUMBER
MOST_PARTNERS = 12
# Words of a long clause that are compared: likeness needs no more.
COMPARED = 1_000


def align(earlier: Sequence[Words], later: Sequence[Words]) -> Pairs:
    """By place in `later`, the place in `earlier`."""
    pairs: Pairs = {}
    match_equal(earlier, later, pairs, lambda one: (one.clause.kind, one.whole))
    match_equal(earlier, later, pairs, text_key)
    match_titles(earlier, later, pairs)
    match_alike(earlier, later, pairs)
    return pairs


def text_key(words: Words) -> object:
    """The text alone: a renamed clause. Short texts are too often the same by chance."""
    return words.text if len(words.text) > 40 else None


def free(count: int, taken: set[int]) -> list[int]:
    return [place for place in range(count) if place not in taken]


def match_equal(
    earlier: Sequence[Words], later: Sequence[Words], pairs: Pairs, key: Callable[[Words], object]
) -> None:
    groups: dict[object, list[int]] = defaultdict(list)
    for place in free(len(earlier), set(pairs.values())):
        if key(earlier[place]) is not None:
            groups[key(earlier[place])].append(place)
    wanted: dict[object, list[int]] = defaultdict(list)
    for place in free(len(later), set(pairs)):
        if key(later[place]) in groups:
            wanted[key(later[place])].append(place)
    for group, places in wanted.items():
        pair_group(earlier, later, groups[group], places, pairs)


def pair_group(
    earlier: Sequence[Words], later: Sequence[Words], old: list[int], new: list[int], pairs: Pairs
) -> None:
    """Equal texts: those with the same place in the contract first, then in order."""
    for place in new:
        same = [
            other
            for other in old
            if place_in_contract(earlier[other]) == place_in_contract(later[place])
        ]
        if same:
            pairs[place] = same[0]
            old.remove(same[0])
    left = [place for place in new if place not in pairs]
    for place, other in zip(left, list(old), strict=False):
        pairs[place] = other
        old.remove(other)


def place_in_contract(words: Words) -> tuple[str, str, str]:
    clause = words.clause
    return clause.part, clause.number, clause.parent


def match_titles(earlier: Sequence[Words], later: Sequence[Words], pairs: Pairs) -> None:
    """Titles that occur once on each side, first below the same heading, then anywhere."""
    for with_parent in (True, False):

        def key(words: Words, with_parent: bool = with_parent) -> object:
            if not words.title:
                return None
            parent = words.clause.parent if with_parent else ""
            return words.title.lower(), parent, words.clause.part is Part.SCHEDULE

        taken = set(pairs.values())
        old = by_key(earlier, free(len(earlier), taken), key)
        new = by_key(later, free(len(later), set(pairs)), key)
        for group, places in new.items():
            others = old.get(group, [])
            least = 0.0 if with_parent else LEAST_WITH_TITLE
            if len(places) == len(others) == 1 and (
                likeness(earlier[others[0]], later[places[0]]) >= least
            ):
                pairs[places[0]] = others[0]


def by_key(
    words: Sequence[Words], places: list[int], key: Callable[[Words], object]
) -> dict[object, list[int]]:
    groups: dict[object, list[int]] = defaultdict(list)
    for place in places:
        if key(words[place]) is not None:
            groups[key(words[place])].append(place)
    return groups


def likeness(one: Words, other: Words) -> float:
    if not one.text and not other.text:
        return 100.0
    encoder = Encoder()
    return float(fuzz.ratio(encoder.encode(one.text), encoder.encode(other.text)))


def match_alike(earlier: Sequence[Words], later: Sequence[Words], pairs: Pairs) -> None:
    old = free(len(earlier), set(pairs.values()))
    new = free(len(later), set(pairs))
    candidates = sorted(alike(earlier, later, old, new), reverse=True)
    taken = set(pairs.values())
    for _, _, place, other in candidates:
        if place not in pairs and other not in taken:
            pairs[place] = other
            taken.add(other)


def alike(
    earlier: Sequence[Words], later: Sequence[Words], old: list[int], new: list[int]
) -> list[tuple[float, int, int, int]]:
    """Likely pairs with their score; ties go to the pair that is nearest in order."""
    found: list[tuple[float, int, int, int]] = []
    encoder = Encoder()
    texts = {other: encoder.encode(earlier[other].text) for other in old}
    for place in new:
        best = process.extract(
            encoder.encode(later[place].text), texts,
            scorer=fuzz.ratio, limit=MOST_PARTNERS, score_cutoff=LEAST_LIKENESS - MOST_HINTS,
        )  # fmt: skip
        for _, likely, other in best:
            score = likely + hints(earlier[other], later[place])
            if score >= LEAST_LIKENESS and may_pair(earlier[other], later[place]):
                found.append((score, -abs(place - other), place, other))
    return found


class Encoder:
    """Each word becomes one character, so that words are compared and not common letters."""

    FIRST = 0xE000
    MOST = 0x10FFFF - FIRST

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    def encode(self, text: str) -> str:
        words = text.lower().split()[:COMPARED]
        return "".join(map(self.character, words))

    def character(self, word: str) -> str:
        if word not in self.words:
            self.words[word] = chr(self.FIRST + len(self.words) % self.MOST)
        return self.words[word]


def may_pair(one: Words, other: Words) -> bool:
    return bool(one.text) == bool(other.text)


def hints(one: Words, other: Words) -> float:
    value = 0.0
    if one.clause.parent == other.clause.parent:
        value += SAME_PARENT
    if one.title and one.title.lower() == other.title.lower():
        value += SAME_TITLE
    if one.clause.number and one.clause.number == other.clause.number:
        value += SAME_NUMBER
    return value
