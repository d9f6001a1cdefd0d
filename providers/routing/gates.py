"""The gate of a provider: pauses, the probe after a pause, and the cap on a day's spend.

    closed ──error, 429──> open ──time──> half-open ──probe accepted──> closed
    (requests pass)         ^                 └──probe rejected──┐
                            └────────────────────────────────────┘

MUST rules: the provider's gate row is locked first, as a statement of its own; what decides is
read after it; the call is inserted in the same transaction. Its models' rows are written after
its own, or two could wait for each other. Never two providers' gates in one transaction. A pause
is an absolute time in the database.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.conf import settings
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce

from providers.adapters.registry import Offer
from providers.calls import ledger, money
from providers.calls.models import Call, Gate
from providers.calls.states import CallState
from providers.reasons import Reason, Rule
from providers.routing.pool import Candidate

WHOLE = ""
"""The model of the gate of the whole provider."""

STAFF = Reason.STAFF
"""Why a gate is open that staff have opened: only staff close it."""

SERIES_ENDS_AFTER = timedelta(minutes=5)
"""How long after a pause, without a request, the next one begins anew: what the provider would
have said in between is not known."""

PROBE_AGAIN = timedelta(seconds=1)
STAFF_AGAIN = timedelta(seconds=15)
"""How soon after staff have resumed a provider a waiting work is tried again."""

UNTIL_TOLD = timedelta(days=3650)
LONGEST_EXHAUSTED = timedelta(hours=26)
OPEN = {
    "paused_until": None,
    "exhausted_until": None,
    "why": "",
    "since": None,
    "shut_since": None,
    "probe": None,
}


@dataclass(frozen=True)
class Closed:
    """No request passes until then. `why` is a `Reason`, or `wall`."""

    why: str
    until: datetime


@dataclass(frozen=True)
class Shift:
    """The change of the whole provider by a call's outcome, for alerts."""

    provider: str
    now: Literal["paused", "open"]
    why: str = ""


def enter(*, work: str, candidate: Candidate, now: datetime) -> Call | Closed:
    """Open a call at its provider's gate, or say why not. Call inside a transaction."""
    gates = _lock(candidate.offer)
    for gate in gates:
        closed = _closed(gate, now)
        if closed:
            return closed
    over = money.cap_reached(candidate.offer, now)
    if over:
        return Closed(Reason.CAP, over)
    call = ledger.open_call(
        work=work, offer=candidate.offer, now=now, after=candidate.after, rule=candidate.rule
    )
    if call is None:
        return Closed("wall", now)
    for gate in gates:
        if gate.is_paused:
            Gate.objects.filter(pk=gate.pk).update(probe=call)
    return call


def follow(call: Call, now: datetime, *, retry_after: float | None = None) -> Shift | None:
    """Pause or open the gates by what became of a submit."""
    if call.rule in (Rule.SEND_WINDOW_MISSED, Rule.SENDER_LOST):
        return None
    if call.state in (CallState.REJECTED, CallState.UNKNOWN):
        return _close(call, now, retry_after)
    return _open(call)


def pause(provider: str, now: datetime) -> bool:
    """No request passes until staff resume the provider. False if they paused it already."""
    Gate.objects.bulk_create([Gate(provider=provider, model=WHOLE)], ignore_conflicts=True)
    whole = Gate.objects.filter(provider=provider, model=WHOLE).exclude(why=STAFF)
    shut = {**OPEN, "paused_until": now + UNTIL_TOLD, "why": STAFF, "since": now, "shut_since": now}
    return whole.update(**shut) == 1


def let_in(provider: str) -> bool:
    """Staff resume a provider: close its own gate and those of its models at once."""
    paused = _paused(provider)
    whole = paused.filter(model=WHOLE).update(**OPEN)
    return bool(paused.exclude(model=WHOLE).update(**OPEN) + whole)


def paused_by_staff() -> set[str]:
    return set(Gate.objects.filter(model=WHOLE, why=STAFF).values_list("provider", flat=True))


def _lock(offer: Offer) -> list[Gate]:
    """The provider's own row first; it is the lock for its models' rows too. Both are read after
    it: a row that was waited for would come with the probe of before."""
    whole = _row(offer.provider, WHOLE)
    Gate.objects.select_for_update().get(pk=whole.pk)
    return [_row(offer.provider, WHOLE), _row(offer.provider, offer.model)]


def _row(provider: str, model: str) -> Gate:
    rows = Gate.objects.select_related("probe").filter(provider=provider, model=model)
    row = rows.first()
    if row:
        return row
    Gate.objects.bulk_create([Gate(provider=provider, model=model)], ignore_conflicts=True)
    return rows.get()


def _closed(gate: Gate, now: datetime) -> Closed | None:
    if gate.why == STAFF:
        return Closed(STAFF, now + STAFF_AGAIN)
    if gate.exhausted_until and now < gate.exhausted_until:
        return Closed(gate.why, gate.exhausted_until)
    if gate.paused_until and now < gate.paused_until:
        return Closed(gate.why, gate.paused_until)
    if gate.is_paused and gate.probe and gate.probe.state == CallState.SENDING:
        return Closed(gate.why, now + PROBE_AGAIN)
    return None


def _close(call: Call, now: datetime, retry_after: float | None) -> Shift | None:
    short = now + settings.ERROR_PAUSE
    if call.why in (Reason.AUTH, Reason.BALANCE):
        until = now + min(settings.EXHAUSTED_PAUSE, LONGEST_EXHAUSTED)
        if _shut(call.provider, WHOLE, now, call.why, exhausted_until=until):
            return Shift(call.provider, "paused", call.why)
        return None
    if call.why in (Reason.INPUT, Reason.CONTENT):
        return _open(call)
    if call.why == Reason.RATE and retry_after is not None:
        until = now + timedelta(seconds=retry_after)
        _shut(call.provider, WHOLE, now, call.why, paused_until=until)
        return None
    _shut(call.provider, call.model, now, call.why, paused_until=short)
    return None


def _shut(provider: str, model: str, now: datetime, why: str, **until: datetime) -> bool:
    """A shorter pause does not cut a longer one, nor give an exhausted provider another reason;
    and none replaces that of staff. `shut_since` stays as it is in a series of pauses: no request
    got in, and each pause began less than SERIES_ENDS_AFTER after the end of the one before."""
    ((column, moment),) = until.items()
    Gate.objects.bulk_create([Gate(provider=provider, model=model)], ignore_conflicts=True)
    shorter = Gate.objects.filter(Q(**{column: None}) | Q(**{f"{column}__lt": moment}))
    shorter = shorter.exclude(exhausted_until__gte=moment)
    shut = shorter.filter(provider=provider, model=model).exclude(why=STAFF)
    untried_since = now - SERIES_ENDS_AFTER
    in_series = Q(paused_until__gt=untried_since) | Q(exhausted_until__gt=untried_since)
    shut_since = Coalesce(Case(When(in_series, then=F("shut_since"))), Value(now))
    return bool(shut.update(**until, why=why, since=now, shut_since=shut_since, probe=None))


def _open(call: Call) -> Shift | None:
    """The provider took a request that was sent after the pause began."""
    paused = _paused(call.provider).filter(since__lte=call.sent_at).exclude(why=STAFF)
    is_open_again = paused.filter(model=WHOLE).update(**OPEN)
    paused.filter(model=call.model).update(**OPEN)
    return Shift(call.provider, "open") if is_open_again else None


def _paused(provider: str) -> QuerySet[Gate]:
    either = Q(paused_until__isnull=False) | Q(exhausted_until__isnull=False)
    return Gate.objects.filter(either, provider=provider)
