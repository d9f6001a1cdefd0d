"""What a provider's wire events mean: the values an adapter returns. It never raises for the wire.

    submit -> Accepted | Done | Failed | Rejected | Unknown
    poll   -> Running | Done | Failed | NoAnswer

Rejected: surely not executed. Failed: confirmed by the provider, with what it cost. Unknown: it
may have run and been billed, so nothing is tried again. NoAnswer: this poll says nothing.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Kind = Literal[
    "config", "auth", "balance", "rate", "input", "content", "no_output", "provider",
    "cancelled", "deadline", "transport",
]  # fmt: skip


@dataclass(frozen=True)
class Why:
    """One vocabulary of reasons for all providers; `text` is for the log, never for a page."""

    kind: Kind
    rule: str = ""
    http: int | None = None
    code: str = ""
    text: str = ""
    retry_after: float | None = None


@dataclass(frozen=True)
class Artifact:
    """A result: an address to fetch, or the bytes themselves in base64."""

    url: str = ""
    b64: str = ""


@dataclass(frozen=True)
class Accepted:
    reference: str


@dataclass(frozen=True)
class Done:
    artifacts: tuple[Artifact, ...]
    cost: Decimal | None = None


@dataclass(frozen=True)
class Failed:
    why: Why
    cost: Decimal | None = None


@dataclass(frozen=True)
class Rejected:
    why: Why


@dataclass(frozen=True)
class Unknown:
    why: Why


@dataclass(frozen=True)
class Running:
    status: str = ""


@dataclass(frozen=True)
class NoAnswer:
    why: Why


def storable(text: str, most: int) -> str:
    """What any database takes: no NUL, no half of a surrogate pair, at most so many characters."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:most]


Submitted = Accepted | Done | Failed | Rejected | Unknown
Polled = Running | Done | Failed | NoAnswer
News = Accepted | Done | Failed | Rejected | Unknown
