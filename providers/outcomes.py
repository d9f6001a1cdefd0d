"""What a provider's wire events mean: the values an adapter returns. It never raises for the wire.

    submit       -> Accepted | Done | Failed | Rejected | Unknown
    complete     -> Done | Failed | Rejected | Unknown
    poll         -> Report | NoAnswer; `run_queries.poll_run` makes Polled of it
    runs_between -> Listing | NoAnswer

Rejected: not executed. Failed: confirmed by the provider, with what it cost. Unknown: it
may have run and been billed, so nothing is tried again. NoAnswer: this poll proves nothing.
NoOutput: complete, but nothing is listed yet; the run is polled again for a while.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import Any, Literal

from providers.reasons import Reason, Rule

LEAST_AMOUNT = Decimal("0.00000001")
"""The columns of the ledger keep eight decimal places."""


@dataclass(frozen=True)
class Cause:
    """One vocabulary of reasons for all providers; `text` is for the log, never for a page."""

    kind: Reason
    rule: Rule | Literal[""] = ""
    http: int | None = None
    code: str = ""
    text: str = ""
    retry_after: float | None = None


@dataclass(frozen=True)
class Artifact:
    """A result: an address to fetch, or the bytes in base64. The ledger keeps bytes in a file and
    knows `file`, `size` and `sha256` instead (`providers.calls.result_files`)."""

    url: str = ""
    b64: str = ""
    file: str = ""
    is_encoded: bool = False
    """The file holds base64 that could not be decoded."""
    size: int = 0
    sha256: str = ""


@dataclass(frozen=True)
class Accepted:
    reference: str


@dataclass(frozen=True)
class Done:
    """`unread` is the whole answer where something in it was not understood: kept for staff."""

    artifacts: tuple[Artifact, ...]
    cost: Decimal | None = None
    unread: str = ""


@dataclass(frozen=True)
class Failed:
    why: Cause
    cost: Decimal | None = None


@dataclass(frozen=True)
class Rejected:
    why: Cause


@dataclass(frozen=True)
class Unknown:
    why: Cause


@dataclass(frozen=True)
class Running:
    status: str = ""


@dataclass(frozen=True)
class NoOutput:
    cost: Decimal | None = None
    text: str = ""


@dataclass(frozen=True)
class NoAnswer:
    why: Cause


@dataclass(frozen=True)
class Report:
    """An answer to a poll before it is believed: the id of the run that it names, empty where it
    names none, and the state of that run."""

    reference: str
    outcome: Running | NoOutput | Done | Failed


@dataclass(frozen=True)
class Run:
    """A row of the provider's own list of what it ran."""

    reference: str
    model: str
    created_at: datetime


@dataclass(frozen=True)
class Listing:
    """The provider's list at one instant. Nothing is concluded from a part of it."""

    runs: tuple[Run, ...]
    asked_at: datetime
    is_complete: bool = True


def storable(text: str, most: int) -> str:
    """What any database takes: no NUL, no half of a surrogate pair, at most so many characters."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:most]


def can_be_asked_for(reference: str) -> bool:
    """Fit for a column and for an address; "." and ".." would ask for something else."""
    return len(reference) <= 200 and reference.isprintable() and bool(reference.strip(". "))


def reference_said(said: Any) -> str:
    """The id of a run; the empty string if it cannot be polled."""
    reference = str(said) if type(said) is int else said
    return reference if isinstance(reference, str) and can_be_asked_for(reference) else ""


def amount_said(said: Any) -> Decimal | None:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    try:
        amount = Decimal(str(said))
    except InvalidOperation:
        return None
    if not (amount.is_finite() and 0 <= amount < 1_000_000):
        return None
    # Rounded up, so that what cost something never reads as free.
    return amount.quantize(LEAST_AMOUNT, ROUND_UP)


Completed = Done | Failed | Rejected | Unknown
Submitted = Accepted | Completed
Reported = Report | NoAnswer
PollResult = Running | NoOutput | Done | Failed | NoAnswer
RunList = Listing | NoAnswer
Outcome = Submitted
