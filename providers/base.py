"""The interface every provider's adapter has. One adapter file a provider; see CONTRIBUTING."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from providers.answers import Listed, Reported, Submitted
from providers.webhooks import Hint


@dataclass(frozen=True)
class Caps:
    """What a provider can do, as its contract says."""

    kinds: frozenset[str]
    cloud: bool
    enqueue_only: bool
    """A submit only enqueues: a 5xx in the provider's own words means it was not executed."""
    result_ttl: timedelta
    currency: str
    day_zone: str = "UTC"
    """The time zone in which the provider's day begins."""
    hook: Literal["signed", "hint", "none"] = "none"
    """Its webhooks: signed, unsigned, or none at all."""


@dataclass(frozen=True)
class PictureRequest:
    """One picture to make. `fault` is for the sandbox alone; `hook_url` is where the provider may
    report, and empty where nobody could reach it."""

    work: str
    model: str
    prompt: str
    aspect_ratio: str = "1:1"
    fault: str = ""
    hook_url: str = ""


def ignore_id(reference: str) -> None:
    """For a submit that nobody keeps."""


class Provider(Protocol):
    name: str
    caps: Caps

    def submit(
        self, request: PictureRequest, *, send_by: datetime, note_id: Callable[[str], None]
    ) -> Submitted:
        """Send once; nothing is written to the wire after `send_by`. Never inside a transaction.

        `note_id` takes an id that stands in the headers, before the body is read.
        """
        ...

    def poll(self, reference: str) -> Reported:
        """Ask what became of a run. Costs nothing, may be repeated at will.

        Call it through `providers.run_queries`, which compares the id in the answer.
        """
        ...

    def runs_between(self, since: datetime, until: datetime) -> Listed:
        """Every run of this account's key that began then, by the provider's own list. Costs
        nothing. Call it through `providers.run_queries`, which compares the times."""
        ...

    def read_hook(self, headers: Mapping[str, str], body: bytes, now: datetime) -> Hint | None:
        """What a webhook says, or None when its signature does not prove it."""
        ...

    def result_origins(self) -> frozenset[str]:
        """Origins that may serve results although private or plain http: this account's own."""
        ...
