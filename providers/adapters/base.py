"""What an adapter can do, as protocols. An adapter has those that its provider offers; callers
check with `isinstance` for the one they need. One adapter file per provider; see CONTRIBUTING."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar, runtime_checkable

from providers.outcomes import Completed, Reported, RunList, Submitted
from providers.wire.verifiers import WebhookNotice


@dataclass(frozen=True)
class Caps:
    """What a provider can do, by its contract."""

    kinds: frozenset[str]
    """The kinds of request that its submit takes."""
    cloud: bool
    enqueue_only: bool
    """A submit only enqueues: a 5xx with its own error body means that nothing was executed."""
    result_ttl: timedelta
    """How long the provider keeps a result after the run ended."""
    currency: str
    day_zone: str = "UTC"
    """The time zone in which the provider's day begins."""
    silence_timeout: float = 30
    """Seconds without a byte after which an answer counts as lost."""
    answer_timeout: float = 60
    """Seconds that a submit may take in all, from connecting to the last byte of the answer."""


@dataclass(frozen=True)
class Request:
    """What every request has. Each kind of work adds its own fields."""

    work: str
    model: str


@dataclass(frozen=True)
class PictureRequest(Request):
    """One picture to make. `fault` is for the sandbox only; `hook_url` is where the provider may
    report, empty where it cannot reach us."""

    prompt: str
    aspect_ratio: str = "1:1"
    fault: str = ""
    hook_url: str = ""


RequestT = TypeVar("RequestT", bound=Request, contravariant=True)


def ignore_id(reference: str) -> None:
    """For a submit without a row to keep the id in."""


class Provider(Protocol):
    """What every adapter has."""

    name: str
    caps: Caps

    def result_origins(self) -> frozenset[str]:
        """Origins that may serve results although private or plain http: this account's own."""
        ...


@runtime_checkable
class SubmitsRuns(Protocol[RequestT]):
    """The provider accepts a request, names a run and makes the result later."""

    def submit(
        self, request: RequestT, *, send_by: datetime, note_id: Callable[[str], None]
    ) -> Submitted:
        """Send once; nothing is written to the wire after `send_by`. Never inside a transaction.

        `note_id` takes an id from the headers, before the body is read.
        """
        ...


@runtime_checkable
class AnswersAtOnce(Protocol[RequestT]):
    """The provider answers a request with its result, on the same connection."""

    def complete(
        self, request: RequestT, *, send_by: datetime, note_id: Callable[[str], None]
    ) -> Completed:
        """Send once and read the whole result. The same rules as for `SubmitsRuns.submit`."""
        ...


@runtime_checkable
class PollsRuns(Protocol):
    def poll(self, reference: str, model: str) -> Reported:
        """Ask for the state of a run. Costs nothing and may be repeated.

        Call it through `providers.adapters.run_queries`, which compares the id in the answer.
        """
        ...


@runtime_checkable
class ListsRuns(Protocol):
    def runs_between(self, since: datetime, until: datetime) -> RunList:
        """Every run of this account's key that began then, by the provider's own list. Costs
        nothing. Call it through `providers.adapters.run_queries`, which compares the times."""
        ...


@runtime_checkable
class SendsWebhooks(Protocol):
    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> WebhookNotice | None:
        """The content of a webhook, or None when its signature does not prove it."""
        ...
