"""What a reply to a submit proves about money: one table, the same for every provider.

The first row that fits decides. A 2xx is no row here: the adapter reads its body, and an
unreadable one is `Unknown` by the rule `unreadable`. A poll is never classified: a GET proves
nothing about the run (docs/adr/0003-a-get-proves-nothing.md).
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from providers.calls.outcomes import Cause, Kind, Rejected, Unknown
from providers.wire.http import Answer, NoReply, NotSent, Reply
from providers.wire.retry_after import read_retry_after

UNCLEAR_4XX = frozenset({408, 409, 425, 499})
OWN_ENQUEUE_ERRORS = frozenset({500, 502, 503})

KIND_OF_STATUS: dict[int, Kind] = {
    401: "auth", 402: "balance", 403: "auth", 404: "config", 405: "config", 429: "rate",
}  # fmt: skip


@dataclass(frozen=True)
class OwnError:
    """An error in the provider's own words: proof that the provider itself answered."""

    code: str = ""
    text: str = ""
    kind: Kind | None = None


@dataclass(frozen=True)
class Seen:
    reply: Reply
    own: OwnError | None
    enqueue_only: bool

    @property
    def status(self) -> int:
        return self.reply.status if isinstance(self.reply, Answer) else 0


@dataclass(frozen=True)
class Row:
    rule: str
    fits: Callable[[Seen], bool]
    outcome: type[Rejected] | type[Unknown]
    literal: type[Rejected] | None = None
    """The outcome under HTTP_ERRORS_REJECT, the literal rule 'any 4xx or 5xx was not executed'."""


TABLE: tuple[Row, ...] = (
    Row(
        "overslept", lambda seen: isinstance(seen.reply, NotSent) and seen.reply.overslept, Rejected
    ),
    Row("never_connected", lambda seen: isinstance(seen.reply, NotSent), Rejected),
    Row("lost", lambda seen: isinstance(seen.reply, NoReply), Unknown),
    Row("redirected", lambda seen: 300 <= seen.status < 400, Unknown),
    Row("unlisted", lambda seen: not 400 <= seen.status < 600, Unknown),
    Row("unclear_4xx", lambda seen: seen.status in UNCLEAR_4XX, Unknown, Rejected),
    Row("too_many", lambda seen: seen.status == 429, Rejected),
    Row("refused", lambda seen: seen.status < 500, Rejected),
    Row(
        "own_enqueue_error",
        lambda seen: seen.enqueue_only and bool(seen.own) and seen.status in OWN_ENQUEUE_ERRORS,
        Rejected,
    ),
    Row("own_error", lambda seen: bool(seen.own), Unknown, Rejected),
    Row("gateway_error", lambda seen: True, Unknown, Rejected),
)


def classify(reply: Reply, *, own: OwnError | None, enqueue_only: bool) -> Rejected | Unknown:
    """The outcome of a submit that was not answered with a 2xx."""
    seen = Seen(reply, own, enqueue_only)
    row = next(row for row in TABLE if row.fits(seen))
    outcome = row.literal if row.literal and settings.HTTP_ERRORS_REJECT else row.outcome
    return outcome(_why(seen, row.rule))


def unreadable(text: str, *, http: int | None = None) -> Unknown:
    return Unknown(Cause("transport", rule="unreadable", http=http, text=text))


def _why(seen: Seen, rule: str) -> Cause:
    if not isinstance(seen.reply, Answer):
        return Cause("transport", rule=rule, text=seen.reply.text)
    own = seen.own or OwnError()
    default: Kind = "input" if seen.status < 500 else "provider"
    if seen.status < 400 or seen.status in UNCLEAR_4XX:
        default = "provider"
    return Cause(
        kind=own.kind or KIND_OF_STATUS.get(seen.status, default),
        rule=rule,
        http=seen.status,
        code=own.code,
        text=own.text,
        retry_after=read_retry_after(seen.reply.headers, timezone.now()),
    )
