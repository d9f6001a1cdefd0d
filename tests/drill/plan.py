"""What a seed does: the fault of each round, what the wire and the webhooks do to it, and whom the
saboteur visits meanwhile. Pure: the same seed, number of rounds and stores give the same plan.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, product
from random import Random
from typing import TypeVar

from jobs.core.faultpoints import POINTS
from providers.sandbox.faults import FAULTS
from providers.sandbox.framing import FRAMINGS
from tests.drill.scales import (
    MOST_HELD,
    MOST_SPELL,
    MOST_STOPPED,
    POINT_SLEEPS,
    TICKER_SLEEPS,
)
from tests.fault_ends import expect

SHARED_MODEL = "extra"
FALLBACK_MODEL = "fallback"
EXTRAS = 2
OKS_A_DECK = 6
PARTS_OF_DECK = 4

FRAMED = ("interim", *FRAMINGS)
WIRE_ON_SUBMIT = (
    *("delay", "hold", "cut", "truncate", "drip", "reset_before", "reset_after"),
    *FRAMED,
)
WIRE_ON_POLL = (
    *("delay", "reset_before", "reset_after", "cut", "hold"),
    *("no_id", "busy", "busy_after"),
    *FRAMED,
)
SWAPPED = ("swapped",)
WIRE_ON_FILE = ("reset_before", "reset_after", "cut", "interim", "unavailable")
WIRE_ON_LIST = ("reset_before", "cut", "interim", "busy", "other_page", "answer_no_end")
TOLD_LATE = ("json_5xx_executed", "failed_then_completed")
# What shows a defect that no other fault does.
DEALT_OFTEN = (*TOLD_LATE, "header_id", "wrong_id", "late_output", "odd_shape", "url_expires")
HOOK_TRICKS = ("twice", "late", "swapped")


@dataclass(frozen=True)
class Round:
    """One job: its fault, its customer, and the trouble on each of its ways; empty means none."""

    number: int
    fault: str
    customer: int
    on_submit: str = ""
    on_poll: str = ""
    on_file: str = ""
    on_list: str = ""
    """Applied to the first list request after its submit."""
    on_hook: str = ""
    refuses_fallback: bool = False
    """The provider refuses what is sent as the fallback of this round."""

    @property
    def model(self) -> str:
        """Of its own, so that nothing but the round itself leaves a doubt in the list."""
        return f"r{self.number:04}"


@dataclass(frozen=True)
class Act:
    """What is done before that round is ordered. `pick` chooses among several of a kind."""

    before: int
    kind: str
    target: str = ""
    seconds: float = 0.0
    pick: float = 0.0


@dataclass(frozen=True)
class Plan:
    rounds: tuple[Round, ...]
    acts: tuple[Act, ...]

    def customers(self) -> dict[int, list[Round]]:
        found: dict[int, list[Round]] = {}
        for each in self.rounds:
            found.setdefault(each.customer, []).append(each)
        return found


def make_plan(seed: int, rounds: int, *, stores: str) -> Plan:
    dealt = Random(f"{seed} rounds")
    visited = Random(f"{seed} acts {stores}")
    return Plan(tuple(_rounds(dealt, rounds)), tuple(_acts(visited, rounds, stores)))


def _rounds(dice: Random, rounds: int) -> Iterator[Round]:
    """Every fault is dealt equally often, in the seed's order. Those that report after the end of a
    job, when an ended attempt could be touched, or only in headers, are dealt more often."""
    deck: list[str] = []
    # Each trouble has its turn before any comes again.
    submits, polls, swaps, files, lists, hooks = (
        _shuffled_for_ever(dice, troubles)
        for troubles in (
            *(WIRE_ON_SUBMIT, WIRE_ON_POLL, SWAPPED),
            *(WIRE_ON_FILE, WIRE_ON_LIST, HOOK_TRICKS),
        )
    )
    customers = count()
    customer, left = 0, 0
    for number in range(rounds):
        if not deck:
            deck = _deck(dice)
        if not left:
            customer, left = next(customers), dice.randint(1, 3)
        left -= 1
        fault = deck.pop()
        of_round = Round(
            number,
            fault,
            customer,
            on_submit=_sometimes(dice, 0.25, submits),
            on_poll=_sometimes(dice, 0.3, swaps if number % 2 and _is_delivered(fault) else polls),
            on_file=_sometimes(dice, 0.15, files),
            on_list=_sometimes(dice, 0.15, lists),
            on_hook=_sometimes(dice, 0.6, hooks),
            refuses_fallback=dice.random() < (0.6 if fault in TOLD_LATE else 0.12),
        )
        if fault in TOLD_LATE and of_round.refuses_fallback:
            # The job has failed by then: what comes after its end must not touch its slot.
            of_round = replace(of_round, on_hook="late")
        yield of_round


def _deck(dice: Random) -> list[str]:
    """What is dealt often comes once in each part of it, so that no short drill goes without."""
    others = [fault.name for fault in FAULTS if fault.name not in DEALT_OFTEN]
    others = dice.sample(others + ["ok"] * OKS_A_DECK, len(others) + OKS_A_DECK)
    size = -(-len(others) // PARTS_OF_DECK)
    parts = [[*others[size * part :][:size], *DEALT_OFTEN] for part in range(PARTS_OF_DECK)]
    return [card for part in parts for card in dice.sample(part, len(part))]


def _is_delivered(fault: str) -> bool:
    """Only a run that ends with a picture can be taken for another that does."""
    return expect(fault).job == "ready"


def _sometimes(dice: Random, share: float, troubles: Iterator[str]) -> str:
    return next(troubles) if dice.random() < share else ""


KILLS = {
    "q-worker": 10, "q-monitor": 1, "q-pusher": 1, "q-sentinel": 1, "q-cluster": 1,
    "cluster": 1, "second": 1, "ticker": 3, "web": 3, "sandbox": 2, "up": 1,
}  # fmt: skip
STOPS = {"q-worker": 6, "q-sentinel": 1, "cluster": 2, "ticker": 3, "web": 2, "sandbox": 2}
ON_MEDIA = {"media full": 2, "media no inodes": 2, "media read-only": 1}
STORES = {
    "sqlite": {
        "lock": 6,
        "data full": 2,
        "data no inodes": 1,
        "data read-only": 2,
        **ON_MEDIA,
    },
    "postgres": {
        "postgres": 3,
        "redis": 3,
        "lock": 2,
        "read-only": 3,
        "postgres full": 2,
        **ON_MEDIA,
    },
}
SHORT = ("lock", "postgres", "redis")


Card = TypeVar("Card")
Visit = tuple[str, str]
"""What is done to the process that reaches a fault point, and which."""
# Between what was done and its row: where a death loses what is known nowhere else, and where
# a sleeping process finds that another has taken its place.
BETWEEN = (
    ("kill", "submit_answered"),
    ("stop", "submit_answered"),
    ("stop", "result_fetched"),
    ("stop", "picture_written"),
)


def _acts(dice: Random, rounds: int, stores: str) -> Iterator[Act]:
    """Two for five rounds."""
    kinds = {"kill": 6, "stop": 4, "point": 13, "store": 5}
    points = _points(dice)
    weights = STORES[stores]
    targets = _shuffled_for_ever(dice, [name for name in weights for _ in range(weights[name])])
    before = dice.randint(1, 4)
    while before < rounds:
        kind = _weighed(dice, kinds)
        pick, seconds = dice.random(), round(dice.uniform(0.3, MOST_STOPPED), 2)
        if kind == "kill":
            yield Act(before, "kill", _weighed(dice, KILLS), pick=pick)
        elif kind == "stop":
            yield Act(before, "stop", _weighed(dice, STOPS), _short_for_sandbox(seconds), pick)
        elif kind == "point":
            action, point = next(points)
            yield Act(before, f"point {action}", point, _sleep_at(point), pick)
        else:
            target = next(targets)
            if target not in SHORT:
                seconds = round(dice.uniform(MOST_SPELL / 2, MOST_SPELL), 2)
            else:
                seconds = min(seconds, 2.5)
            yield Act(before, "store", target, seconds, pick)
        before += dice.randint(1, 4)


def _points(dice: Random) -> Iterator[Visit]:
    """Each has its turn before any comes again; every fourth is one of those between."""
    between = _shuffled_for_ever(dice, BETWEEN)
    others = _shuffled_for_ever(dice, [*product(("kill", "stop"), POINTS)])
    while True:
        yield next(between)
        yield from islice(others, 3)


def _shuffled_for_ever(dice: Random, cards: Sequence[Card]) -> Iterator[Card]:
    while True:
        yield from dice.sample(cards, len(cards))


def _sleep_at(point: str) -> float:
    return TICKER_SLEEPS if point.startswith("poll_") else POINT_SLEEPS


def _short_for_sandbox(seconds: float) -> float:
    """A provider that sleeps longer may run a request after its list was called whole."""
    return min(seconds, MOST_HELD)


def _weighed(dice: Random, weights: dict[str, int]) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]
