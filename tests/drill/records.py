"""What a drill knows of itself: its log of events, and the rows it reckons with. Times are unix
seconds of the drill's own clock.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    at: float
    until: float
    kind: str
    what: str


class Log:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.entries: list[Entry] = []

    def note(self, kind: str, what: str, *, seconds: float = 0.0) -> None:
        at = self._now()
        self.entries.append(Entry(at, at + seconds, kind, what))


@dataclass(frozen=True)
class Attempt:
    account: int
    day: str
    slot: int
    allowed: int
    state: str
    cost_nothing: bool
    reserved_at: float
    settled_at: float | None


@dataclass(frozen=True)
class Call:
    id: int
    work: str
    model: str
    state: str
    reference: str | None
    hook_token: str
    why: str
    rule: str
    detail: str
    sent_at: float
    answer_by: float
    ended_at: float | None
    cost: str | None
    late_outcome: str


@dataclass(frozen=True)
class Job:
    id: str
    model: str
    form_key: str
    state: str
    reason: str
    created_at: float
    attempt: Attempt
    calls: tuple[Call, ...]
    pictures: tuple[int, ...]
    """The call of each picture."""
    shown: tuple[str, ...]
    """The run that each picture's file shows; empty where it shows none."""
    events: tuple[str, ...]
    kept: int = 0
    """Results that could not be read and are kept for staff, whom an alert tells of each call."""
    told: str = ""
    """The same with instants and codes, for a person to read."""

    @property
    def work(self) -> str:
        return f"image:{self.id}"


@dataclass(frozen=True)
class Run:
    """One execution on the sandbox's bill."""

    id: str
    work: str
    model: str
    fault: str
    executed_at: float
    charged: float
    failure_told_at: float | None


@dataclass(frozen=True)
class Refusal:
    """An order that was refused because no slot was left, between the two instants."""

    account: int
    began: float
    ended: float


@dataclass(frozen=True)
class Books:
    """Everything that is compared. `runs` come from the sandbox, `answered`, `named` and `asked`
    from the proxy, `taken` and `refused` the relay's; `seats` is how many more could be
    reserved, by account and day.
    """

    jobs: tuple[Job, ...]
    runs: tuple[Run, ...]
    answered: dict[str, float] = field(default_factory=dict)
    named: dict[str, float] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    silences: tuple[tuple[float, float], ...] = ()
    """Spans in which the provider wanted no polls (Retry-After)."""
    polled: tuple[float, ...] = ()
    """When each question about a run left the site."""
    fetched: tuple[tuple[str, float], ...] = ()
    """Run and moment of each file that was handed over whole."""
    taken: frozenset[tuple[str, str]] = frozenset()
    refused: frozenset[tuple[str, str]] = frozenset()
    refusals: tuple[Refusal, ...] = ()
    seats: dict[tuple[int, str], int] = field(default_factory=dict)
    audit: tuple[str, ...] = ()
    troubles: tuple[Entry, ...] = ()
    accepted: frozenset[str] = frozenset()
    """The form key of each order that was accepted."""
    unanswered: int = 0
    """Orders without an answer in time."""


def books_from(rows: dict[str, Any], bill: dict[str, Any], **facts: Any) -> Books:
    jobs = []
    for row in rows["jobs"]:
        calls = tuple(Call(**call) for call in row.pop("calls"))
        attempt = Attempt(**row.pop("attempt"))
        lists: dict[str, Any] = {
            name: tuple(row.pop(name)) for name in ("pictures", "shown", "events")
        }
        jobs.append(Job(attempt=attempt, calls=calls, **lists, **row))
    kept = ("id", "work", "model", "fault", "executed_at", "failure_told_at")
    runs = [
        Run(**{name: row[name] for name in kept}, charged=float(row["charged"]))
        for row in bill["generations"]
    ]
    seats = {(account, day): free for account, day, free in rows["seats"]}
    return Books(jobs=tuple(jobs), runs=tuple(runs), seats=seats, **facts)
