"""From blocks to clauses.

1. Tables of contents are left out, and remarked.
2. Each block that may open a clause is marked: a heading of the format, or a number that continues
   the longest sequence of numbers in its part. Parts end where a schedule begins.
3. Everything up to the next mark belongs to the clause, so that no text is lost.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from jobs.contracts.reading import titles
from jobs.contracts.reading.blocks import Block, Kind
from jobs.contracts.reading.clauses import Clause, ClauseKind, Part
from jobs.contracts.reading.language import detect_language
from jobs.contracts.reading.numbering import Candidate, Number, longest_sequence, parse_number

# A clause is x or x.y; what is numbered deeper belongs to it.
DEEPEST = 2
FEWEST_OF_SEQUENCE = 2
# A shorter text has the language of the contract.
FEWEST_CHARACTERS = 200


@dataclass
class Opening:
    """What a block opens: a clause with a number, a heading, a definition."""

    depth: int
    number: str = ""
    title: str = ""
    rest: str = ""
    term: str = ""
    is_schedule: bool = False
    # The title is the block below the number.
    takes_next: bool = False


@dataclass
class Piece:
    opening: Opening
    part: Part
    blocks: list[Block] = field(default_factory=list)
    page: int | None = None
    parent: str = ""


def split(blocks: Sequence[Block]) -> list[Clause]:
    kept = without_contents(list(blocks))
    pieces: list[Piece] = []
    for number, section in enumerate(sections_at_schedules(kept)):
        part = Part.SCHEDULE if number else Part.BODY
        pieces += split_part(section, part)
    if all(piece.part is Part.FRONT for piece in pieces):
        # One block without numbers or headings is the contract itself.
        for piece in pieces:
            piece.part = Part.BODY
    language = detect_language("\n".join(block.text for block in kept))
    clauses = [to_clause(piece, language) for piece in pieces]
    return [replace(clause, position=place) for place, clause in enumerate(clauses, start=1)]


def without_contents(blocks: list[Block]) -> list[Block]:
    """Lines of a table of contents end in a page number after dots; its heading goes with them."""
    lines = [position for position, block in enumerate(blocks) if is_contents(block)]
    if len(lines) < 3:
        return blocks
    dropped = set(lines)
    first = lines[0]
    if first and titles.CONTENTS.fullmatch(blocks[first - 1].text.strip(" .:")):
        dropped.add(first - 1)
    return [block for position, block in enumerate(blocks) if position not in dropped]


def is_contents(block: Block) -> bool:
    return block.kind is not Kind.TABLE and titles.is_contents_line(block.text)


def sections_at_schedules(blocks: list[Block]) -> list[list[Block]]:
    """The body, then each schedule; the body holds at least one number or heading."""
    starts = [0]
    seen_body = False
    for position, block in enumerate(blocks):
        opens_schedule = block.kind in {Kind.HEADING, Kind.PARAGRAPH} and (
            titles.is_schedule(block.text) or titles.is_signatures(block.text)
        )
        if opens_schedule and seen_body:
            starts.append(position)
        elif (block.kind is not Kind.TABLE and parse_number(shown_text(block))) or (
            position
            and (block.kind is Kind.HEADING or titles.looks_like_heading(block.text, block.lead))
        ):
            seen_body = True
    return [blocks[a:b] for a, b in zip(starts, [*starts[1:], len(blocks)], strict=True)]


def shown_text(block: Block) -> str:
    return f"{block.number} {block.text}" if block.number not in {"", "•"} else block.text


def split_part(blocks: list[Block], part: Part) -> list[Piece]:
    openings = find_openings(blocks, part)
    first_number = next((at for at, opening in sorted(openings.items()) if opening.number), None)
    pieces: list[Piece] = []
    parents: dict[int, Opening] = {}
    for position, block in enumerate(blocks):
        if position - 1 in openings and openings[position - 1].takes_next:
            continue
        opening = openings.get(position)
        in_front = part is Part.BODY and is_front(position, first_number, pieces, blocks)
        if opening is None and (not pieces or (in_front and not pieces)):
            opening = Opening(depth=0)
            pieces.append(Piece(opening, part_of(part, in_front), [], block.page))
            pieces[-1].blocks.append(block)
            continue
        if opening is not None:
            parents = {depth: above for depth, above in parents.items() if depth < opening.depth}
            above = parents[max(parents)] if parents else None
            number_below(opening, above)
            piece = Piece(opening, part_of(part, in_front), [], block.page)
            piece.parent = (above.title or above.number) if above else ""
            if not opening.term:
                parents[opening.depth] = opening
            pieces.append(piece)
            if opening.rest:
                piece.blocks.append(
                    replace(block, text=opening.rest, number="", kind=Kind.PARAGRAPH)
                )
        else:
            pieces[-1].blocks.append(block)
    return pieces


def part_of(part: Part, in_front: bool) -> Part:
    return Part.FRONT if in_front else part


def is_front(
    position: int, first_number: int | None, pieces: list[Piece], blocks: list[Block]
) -> bool:
    """What comes before the first number; without numbers, the title and what it introduces."""
    if first_number is not None:
        return position < first_number
    return not pieces and (position == 0)


def number_below(opening: Opening, above: Opening | None) -> None:
    """The 1 below B is B.1, and the second item below item 3 is 3.2."""
    if above is None or not above.number or not opening.number or "." in opening.number:
        return
    if opening.depth > above.depth:
        opening.number = f"{above.number}.{opening.number}"


def find_openings(blocks: list[Block], part: Part) -> dict[int, Opening]:
    openings: dict[int, Opening] = {}
    numbers = {
        position: number
        for position, block in enumerate(blocks)
        if block.kind is not Kind.TABLE and (number := parse_number(shown_text(block)))
    }
    headings = [position for position, block in enumerate(blocks) if block.kind is Kind.HEADING]
    for position in headings:
        openings[position] = heading_opening(blocks[position], numbers.get(position))
    numbered_headings = sum(position in numbers for position in headings)
    chosen = numbers_outside_headings(blocks, numbers, numbered_headings)
    base = base_depth(blocks, chosen, headings)
    for position, key in chosen.items():
        if position not in openings:
            openings[position] = numbered_opening(blocks[position], numbers[position], key, base)
    take_titles_below(blocks, openings)
    if part is Part.SCHEDULE and blocks and 0 not in openings and blocks[0].kind is Kind.PARAGRAPH:
        openings[0] = Opening(1, "", titles.clean_title(blocks[0].text), is_schedule=True)
    if not openings:
        openings = unmarked_headings(blocks)
    for position, block in enumerate(blocks):
        if position not in openings and block.kind is Kind.PARAGRAPH:
            term = titles.defined_term(block.text)
            if term:
                openings[position] = Opening(99, "", term, block.text, term)
    return openings


def take_titles_below(blocks: list[Block], openings: dict[int, Opening]) -> None:
    """`ARTICLE I` on one line and its title on the next."""
    for position, opening in openings.items():
        if not opening.number or opening.title or opening.rest or position + 1 >= len(blocks):
            continue
        below = blocks[position + 1]
        is_title = titles.looks_like_heading(below.text, below.lead)
        if below.kind is Kind.PARAGRAPH and is_title and position + 1 not in openings:
            opening.title, opening.takes_next = titles.clean_title(below.text), True


def unmarked_headings(blocks: list[Block]) -> dict[int, Opening]:
    """Without numbers and headings: lines in capitals or in bold that have text below them."""
    found = {
        position: Opening(2 if position else 1, "", titles.clean_title(block.text))
        for position, block in enumerate(blocks)
        if block.kind is Kind.PARAGRAPH and titles.looks_like_heading(block.text, block.lead)
    }
    return found if len(found) > FEWEST_OF_SEQUENCE else {}


def heading_opening(block: Block, number: Number | None) -> Opening:
    text = shown_text(block)
    shown = number.shown if number else ""
    title = titles.clean_title(text[number.length :] if number else text)
    return Opening(block.level, shown, title, is_schedule=titles.is_schedule(block.text))


def base_depth(blocks: list[Block], chosen: dict[int, tuple[int, ...]], headings: list[int]) -> int:
    """Numbered blocks lie below the headings that come before them."""
    levels = [blocks[at].level for at in headings]
    return max(levels, default=0)


def numbers_outside_headings(
    blocks: list[Block], numbers: dict[int, Number], numbered_headings: int
) -> dict[int, tuple[int, ...]]:
    keys = nested_keys(blocks, numbers)
    if numbered_headings >= FEWEST_OF_SEQUENCE:
        headings = {position for position in keys if blocks[position].kind is Kind.HEADING}
        own = {at: key for at, key in keys.items() if len(key) == DEEPEST or at in headings}
        run = run_of(blocks, numbers, own)
        return {at: key for at, key in run.items() if at not in headings}
    run = run_of(blocks, numbers, keys)
    if len(run) < FEWEST_OF_SEQUENCE or covered(blocks, run) < 0.4:
        return {}
    return {at: key for at, key in run.items() if len(key) <= DEEPEST}


def run_of(
    blocks: list[Block], numbers: dict[int, Number], keys: dict[int, tuple[int, ...]]
) -> dict[int, tuple[int, ...]]:
    """The best sequence among those of each way of writing the first level."""
    best: list[Candidate] = []
    words = {number.scheme for number in numbers.values() if number.scheme.startswith("word")}
    for scheme in ({"decimal"}, {"decimal", *words}, {"decimal", "roman"}, {"decimal", "letter"}):
        candidates = [
            Candidate(at, key, weight_of(blocks[at], numbers[at]))
            for at, key in keys.items()
            if numbers[at].scheme in scheme
        ]
        run = longest_sequence(candidates)
        if weight(run) > weight(best):
            best = run
    return {candidate.position: candidate.key for candidate in best}


def weight(run: list[Candidate]) -> float:
    return sum(candidate.weight for candidate in run)


def weight_of(block: Block, number: Number) -> float:
    rest = shown_text(block)[number.length :]
    value = 1.0
    if block.kind is Kind.HEADING or number.scheme.startswith("word"):
        value += 2
    if rest and (titles.title_length(rest) or rest.isupper()):
        value += 1
    return value


def nested_keys(blocks: list[Block], numbers: dict[int, Number]) -> dict[int, tuple[int, ...]]:
    """The place of each number. An item of an inner list lies below the item with the list."""
    keys: dict[int, tuple[int, ...]] = {}
    above: dict[int, tuple[int, ...]] = {}
    for position, block in enumerate(blocks):
        number = numbers.get(position)
        if block.kind is not Kind.ITEM:
            if number:
                keys[position] = number.key
            continue
        own = number.key if number else (1,)
        parent = above.get(block.level - 1)
        if parent and len(own) == 1 and block.level:
            own = (*parent, *own)
        above = {level: key for level, key in above.items() if level < block.level}
        if number:
            above[block.level] = own
            keys[position] = own
    return keys


def covered(blocks: list[Block], run: dict[int, tuple[int, ...]]) -> float:
    first = min(run)
    inside = sum(len(block.text) for block in blocks[first:] if block.kind is not Kind.TABLE)
    whole = sum(len(block.text) for block in blocks if block.kind is not Kind.TABLE)
    return inside / whole if whole else 0.0


def numbered_opening(block: Block, number: Number, key: tuple[int, ...], base: int) -> Opening:
    text = shown_text(block)[number.length :]
    shown = number.shown
    if len(key) > 1 and "." not in shown:
        shown = ".".join(str(part) for part in key)
    term = titles.defined_term(text)
    if term:
        return Opening(base + len(key), shown, term, text, term)
    lead = max(0, block.lead - (len(shown_text(block)) - len(text)))
    length = titles.title_length(text, lead)
    title = titles.clean_title(text[:length])
    return Opening(base + len(key), shown, title, text[length:].strip())


def to_clause(piece: Piece, language: str) -> Clause:
    opening = piece.opening
    lines = [line_of(block) for block in piece.blocks]
    text = "\n".join(line for line in lines if line)
    words = "\n".join(block.text for block in piece.blocks if block.text)
    return Clause(
        position=0,
        part=piece.part,
        kind=kind_of(piece),
        number=opening.number,
        title=opening.title,
        parent=piece.parent,
        text=text,
        words=words,
        language=(detect_language(text) if len(text) > FEWEST_CHARACTERS else "") or language,
        page=piece.page,
    )


def line_of(block: Block) -> str:
    if block.kind is Kind.ITEM and block.number:
        return f"{block.number} {block.text}"
    return block.text


def kind_of(piece: Piece) -> ClauseKind:
    if piece.opening.term:
        return ClauseKind.DEFINITION
    if not piece.blocks:
        return ClauseKind.HEADING
    if all(block.kind is Kind.TABLE for block in piece.blocks):
        return ClauseKind.TABLE
    if piece.part is Part.FRONT and not piece.opening.number and piece.opening.depth <= 1:
        return ClauseKind.PREFACE
    return ClauseKind.CLAUSE


def lines_of(clauses: Sequence[Clause]) -> Iterator[str]:
    for clause in clauses:
        yield re.sub(r"\s+", " ", f"{clause.number} {clause.title} {clause.text}")
