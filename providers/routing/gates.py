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

from providers.calls import ledger, money
from providers.calls.models import Call, Gate
from providers.calls.states import CallState
from providers.reasons import Reason, Rule
from providers.routing.pool import Candidate

WHOLE = ""
"""The model of the gate of the whole provider."""

STAFF = Reason.STAFF
"""The reason of a gate that staff have opened. Only staff close it."""

SERIES_ENDS_AFTER = timedelta(minutes=5)
"""How long after a pause, without a request, the next one starts a new series: we do not know
what the provider would have answered in between."""

PROBE_AGAIN = timedelta(seconds=1)
STAFF_AGAIN = timedelta(seconds=15)
"""How soon after staff have resumed a provider a waiting work is tried again."""

UNTIL_RESUMED = timedelta(days=3650)
LONGEST_EXHAUSTED = timedelta(hours=26)
CLOSED = {
    "paused_until": None,
    "exhausted_until": None,
    "why": "",
    "since": None,
    "blocked_since": None,
    "probe": None,
}


@dataclass(frozen=True)
class Blocked:
    """No request passes until then. `why` is a `Reason`, or `wall`."""

    why: str
    until: datetime


@dataclass(frozen=True)
class GateChange:
    """The change of the whole provider by a call's outcome, for alerts."""

    provider: str
    became: Literal["open", "closed"]
    why: str = ""


def enter(*, work: str, candidate: Candidate, now: datetime) -> Call | Blocked:
    """Open a call at its provider's gate, or say why not. Call inside a transaction."""
    # The provider's own row first; it is the lock for its models' rows too. Both are read after
    # it: a row that was waited for would come with the probe of before.
    whole = _row(candidate.offer.provider, WHOLE)
    Gate.objects.select_for_update().get(pk=whole.pk)
    gates = [
        _row(candidate.offer.provider, WHOLE),
        _row(candidate.offer.provider, candidate.offer.model),
    ]
    for gate in gates:
        blocked = _blocked(gate, now)
        if blocked:
            return blocked
    over = money.cap_reached(candidate.offer, now)
    if over:
        return Blocked(Reason.CAP, over)
    call = ledger.open_call(
        work=work, offer=candidate.offer, now=now, after=candidate.after, rule=candidate.rule
    )
    if call is None:
        return Blocked("wall", now)
    for gate in gates:
        if gate.is_paused:
            Gate.objects.filter(pk=gate.pk).update(probe=call)
    return call


def follow(call: Call, now: datetime, *, retry_after: float | None = None) -> GateChange | None:
    """Open or close the gates by the outcome of a submit."""
    if call.rule in (Rule.SEND_WINDOW_MISSED, Rule.SENDER_LOST):
        return None
    if call.state in (CallState.REJECTED, CallState.UNKNOWN):
        return _open(call, now, retry_after)
    return _close(call)


def pause(provider: str, now: datetime) -> bool:
    """No request passes until staff resume the provider. False if they paused it already."""
    Gate.objects.bulk_create([Gate(provider=provider, model=WHOLE)], ignore_conflicts=True)
    whole = Gate.objects.filter(provider=provider, model=WHOLE).exclude(why=STAFF)
    opened = {
        **CLOSED,
        "paused_until": now + UNTIL_RESUMED,
        "why": STAFF,
        "since": now,
        "blocked_since": now,
    }
    return whole.update(**opened) == 1


def resume(provider: str) -> bool:
    """Staff resume a provider: close its own gate and those of its models at once."""
    paused = _paused(provider)
    whole = paused.filter(model=WHOLE).update(**CLOSED)
    return bool(paused.exclude(model=WHOLE).update(**CLOSED) + whole)


def paused_by_staff() -> set[str]:
    return set(Gate.objects.filter(model=WHOLE, why=STAFF).values_list("provider", flat=True))


def _row(provider: str, model: str) -> Gate:
    rows = Gate.objects.select_related("probe").filter(provider=provider, model=model)
    row = rows.first()
    if row:
        return row
    Gate.objects.bulk_create([Gate(provider=provider, model=model)], ignore_conflicts=True)
    return rows.get()


def _blocked(gate: Gate, now: datetime) -> Blocked | None:
    if gate.why == STAFF:
        return Blocked(STAFF, now + STAFF_AGAIN)
    if gate.exhausted_until and now < gate.exhausted_until:
        return Blocked(gate.why, gate.exhausted_until)
    if gate.paused_until and now < gate.paused_until:
        return Blocked(gate.why, gate.paused_until)
    if gate.is_paused and gate.probe and gate.probe.state == CallState.SENDING:
        return Blocked(gate.why, now + PROBE_AGAIN)
    return None


def _open(call: Call, now: datetime, retry_after: float | None) -> GateChange | None:
    short = now + settings.ERROR_PAUSE
    if call.why in (Reason.AUTH, Reason.BALANCE):
        until = now + min(settings.EXHAUSTED_PAUSE, LONGEST_EXHAUSTED)
        if _block(call.provider, WHOLE, now, call.why, exhausted_until=until):
            return GateChange(call.provider, "open", call.why)
        return None
    if call.why in (Reason.INPUT, Reason.CONTENT):
        return _close(call)
    if call.why == Reason.RATE and retry_after is not None:
        until = now + timedelta(seconds=retry_after)
        _block(call.provider, WHOLE, now, call.why, paused_until=until)
        return None
    _block(call.provider, call.model, now, call.why, paused_until=short)
    return None


def _block(provider: str, model: str, now: datetime, why: str, **until: datetime) -> bool:
    """A shorter pause does not cut a longer one, nor give an exhausted provider another reason;
    and none replaces that of staff. `blocked_since` is the start of a series of pauses: no request
    passed, and each pause began less than SERIES_ENDS_AFTER after the end of the one before."""
    ((column, moment),) = until.items()
    Gate.objects.bulk_create([Gate(provider=provider, model=model)], ignore_conflicts=True)
    shorter = Gate.objects.filter(Q(**{column: None}) | Q(**{f"{column}__lt": moment}))
    shorter = shorter.exclude(exhausted_until__gte=moment)
    gates = shorter.filter(provider=provider, model=model).exclude(why=STAFF)
    untried_since = now - SERIES_ENDS_AFTER
    in_series = Q(paused_until__gt=untried_since) | Q(exhausted_until__gt=untried_since)
    blocked_since = Coalesce(Case(When(in_series, then=F("blocked_since"))), Value(now))
    return bool(gates.update(**until, why=why, since=now, blocked_since=blocked_since, probe=None))


def _close(call: Call) -> GateChange | None:
    """The provider took a request that was sent after the pause began."""
    paused = _paused(call.provider).filter(since__lte=call.sent_at).exclude(why=STAFF)
    is_closed_again = paused.filter(model=WHOLE).update(**CLOSED)
    paused.filter(model=call.model).update(**CLOSED)
    return GateChange(call.provider, "closed") if is_closed_again else None


def _paused(provider: str) -> QuerySet[Gate]:
    either = Q(paused_until__isnull=False) | Q(exhausted_until__isnull=False)
    return Gate.objects.filter(either, provider=provider)
