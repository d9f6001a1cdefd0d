"""What a reply to a submit proves about money: one table, the same for every provider.

The first row that fits decides. A 2xx is no row here: the adapter reads its body, and an
unreadable one is `Unknown` by the rule `unreadable`. A poll is never classified: a GET proves
nothing about the run (docs/adr/0003-a-get-proves-nothing.md).
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from providers.outcomes import Cause, Rejected, Unknown
from providers.reasons import Reason, Rule
from providers.wire.http import Answer, NoReply, NotSent, Reply
from providers.wire.retry_after import read_retry_after

UNCLEAR_4XX = frozenset({408, 409, 425, 499})
OWN_ENQUEUE_ERRORS = frozenset({500, 502, 503})

REASON_OF_STATUS = {
    401: Reason.AUTH,
    402: Reason.BALANCE,
    403: Reason.AUTH,
    404: Reason.CONFIG,
    405: Reason.CONFIG,
    429: Reason.RATE,
}


@dataclass(frozen=True)
class OwnError:
    """An error in the provider's own words: proof that the provider itself answered."""

    code: str = ""
    text: str = ""
    kind: Reason | None = None


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
    rule: Rule
    fits: Callable[[Seen], bool]
    outcome: type[Rejected] | type[Unknown]
    literal: type[Rejected] | None = None
    """The outcome under HTTP_ERRORS_REJECT, the literal rule 'any 4xx or 5xx was not executed'."""


TABLE: tuple[Row, ...] = (
    Row(
        Rule.SEND_WINDOW_MISSED,
        lambda seen: isinstance(seen.reply, NotSent) and seen.reply.missed_window,
        Rejected,
    ),
    Row(Rule.NEVER_CONNECTED, lambda seen: isinstance(seen.reply, NotSent), Rejected),
    Row(Rule.LOST, lambda seen: isinstance(seen.reply, NoReply), Unknown),
    Row(Rule.REDIRECTED, lambda seen: 300 <= seen.status < 400, Unknown),
    Row(Rule.UNLISTED, lambda seen: not 400 <= seen.status < 600, Unknown),
    Row(Rule.UNCLEAR_4XX, lambda seen: seen.status in UNCLEAR_4XX, Unknown, Rejected),
    Row(Rule.TOO_MANY, lambda seen: seen.status == 429, Rejected),
    Row(Rule.REFUSED, lambda seen: seen.status < 500, Rejected),
    Row(
        Rule.OWN_ENQUEUE_ERROR,
        lambda seen: seen.enqueue_only and bool(seen.own) and seen.status in OWN_ENQUEUE_ERRORS,
        Rejected,
    ),
    Row(Rule.OWN_ERROR, lambda seen: bool(seen.own), Unknown, Rejected),
    Row(Rule.GATEWAY_ERROR, lambda seen: True, Unknown, Rejected),
)


def classify(reply: Reply, *, own: OwnError | None, enqueue_only: bool) -> Rejected | Unknown:
    """The outcome of a submit that was not answered with a 2xx."""
    seen = Seen(reply, own, enqueue_only)
    row = next(row for row in TABLE if row.fits(seen))
    outcome = row.literal if row.literal and settings.HTTP_ERRORS_REJECT else row.outcome
    return outcome(_why(seen, row.rule))


def unreadable(text: str, *, http: int | None = None) -> Unknown:
    return Unknown(Cause(Reason.TRANSPORT, rule=Rule.UNREADABLE, http=http, text=text))


def _why(seen: Seen, rule: Rule) -> Cause:
    if not isinstance(seen.reply, Answer):
        return Cause(Reason.TRANSPORT, rule=rule, text=seen.reply.text)
    own = seen.own or OwnError()
    default: Reason = Reason.INPUT if seen.status < 500 else Reason.PROVIDER
    if seen.status < 400 or seen.status in UNCLEAR_4XX:
        default = Reason.PROVIDER
    return Cause(
        kind=own.kind or REASON_OF_STATUS.get(seen.status, default),
        rule=rule,
        http=seen.status,
        code=own.code,
        text=own.text,
        retry_after=read_retry_after(seen.reply.headers, timezone.now()),
    )
