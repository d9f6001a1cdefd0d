"""Finds the outcome of a submit whose answer was lost, in the provider's own list of runs.

    listing, call -> Found         exactly one run and exactly one call that it can be of
                     NotExecuted   no run, in a whole list, requested late enough
                     CannotTell    anything else: a wrong picture is worse than a lost one

The list names neither prompt nor work: runs and calls are compared by key, model and time only.
So it is used only where the operator has declared the key exclusive, and every call
that may have run is counted, ended or not.

MUST rule: the rows are read after the list. A call's row is committed before its request leaves,
so each run of ours in the list has its row by then.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from providers.adapters.base import ListsRuns
from providers.adapters.registry import find_provider
from providers.calls import restores
from providers.calls.models import Call, CallQuerySet
from providers.calls.states import CallState
from providers.outcomes import Listing, Run, RunList
from providers.reasons import Rule

SKEW = timedelta(seconds=30)
"""By so much the provider's clock may differ from ours."""

WIDE = timedelta(hours=1)
"""Nothing counts as not executed while a run of unknown origin began so near: a clock may be
wrong, and the list's time of a run may be that of its end."""

A_DAY = timedelta(days=1)
"""No submit lasts so long: further back no call is read."""

# What never arrived, or was refused by a 4xx that proves it (`providers.wire.classify`).
NEVER_RAN = Q(
    state=CallState.REJECTED,
    rule__in=(Rule.NEVER_CONNECTED, Rule.SEND_WINDOW_MISSED, Rule.TOO_MANY, Rule.REFUSED),
    late_outcome="",
)

Doubt = Literal[
    "no_list", "not_exclusive", "other_key", "clock", "list_failed", "list_incomplete", "sending",
    "strange_run", "ambiguous", "lag_unknown", "too_early", "restored",
]  # fmt: skip


@dataclass(frozen=True)
class Found:
    reference: str


@dataclass(frozen=True)
class NotExecuted:
    evidence: str


@dataclass(frozen=True)
class CannotTell:
    why: Doubt


Verdict = Found | NotExecuted | CannotTell


@dataclass(frozen=True)
class Span:
    begins: datetime
    ends: datetime

    def holds(self, moment: datetime) -> bool:
        return self.begins <= moment <= self.ends


def why_not_to_ask(call: Call) -> Doubt | None:
    """The list proves nothing without the operator's word, which a second account with the same
    key belies, nor when it is that of another key than the call was sent with, nor where it is not
    known when the call was sent, nor while it may show runs whose rows a restore has lost."""
    accounts = settings.PROVIDER_ACCOUNTS
    account = accounts.get(call.provider)
    if account is None:
        return "not_exclusive"
    if not isinstance(find_provider(call.provider), ListsRuns):
        return "no_list"
    if not account.key_exclusive:
        return "not_exclusive"
    if [other.key for other in accounts.values()].count(account.key) > 1:
        return "not_exclusive"
    if not call.key_mark:
        return "clock"
    if call.key_mark != account.key_mark:
        return "other_key"
    return "restored" if restores.hides_runs(call, timezone.now()) else None


def find_lost(call: Call, listing: RunList) -> Verdict:
    """The verdict on a call without an id, by the runs listed around it (`group_by_span`)."""
    not_asked = why_not_to_ask(call)
    if not_asked:
        return CannotTell(not_asked)
    if not isinstance(listing, Listing):
        return CannotTell("list_failed")
    if not listing.is_complete:
        return CannotTell("list_incomplete")
    rivals = _sent_around(call, SKEW).exclude(NEVER_RAN).exclude(pk=call.pk)
    if rivals.filter(state=CallState.SENDING).exists():
        return CannotTell("sending")
    unmatched = _unmatched(call, listing)
    if _some_are_strange(call, unmatched):
        return CannotTell("strange_run")
    runs = [run for run in unmatched if run.model == call.model]
    if not runs:
        return _not_executed(call, listing)
    near = [run for run in runs if _span(call, SKEW).holds(run.created_at)]
    if len(near) == 1 and not any(
        others.filter(reference=None).exists() for others in (rivals, _sent_at_some_time(call))
    ):
        return Found(near[0].reference)
    return CannotTell("ambiguous")


def group_by_span(calls: Iterable[Call], now: datetime) -> list[tuple[Span, list[Call]]]:
    """The stretches of time to ask the list for, each with its calls: one for all that were lost
    near each other."""
    found: list[tuple[Span, list[Call]]] = []
    for call in sorted(calls, key=lambda call: call.sent_at):
        span = _span(call, WIDE)
        if found and span.begins <= found[-1][0].ends:
            joined = Span(found[-1][0].begins, max(found[-1][0].ends, span.ends))
            found[-1] = (joined, [*found[-1][1], call])
        else:
            found.append((span, [call]))
    latest = now + SKEW
    return [(Span(span.begins, min(span.ends, latest)), group) for span, group in found]


def _span(call: Call, margin: timedelta) -> Span:
    """When a run of this call can have begun."""
    return Span(call.sent_at - margin, call.answer_by + margin)


def _sent_around(call: Call, margin: timedelta, *, any_model: bool = False) -> CallQuerySet:
    """The calls with a span that, widened by the margin, meets that of this one."""
    span = _span(call, 2 * margin)
    calls = Call.objects.filter(
        provider=call.provider,
        sent_at__range=(span.begins - A_DAY, span.ends),
        answer_by__gte=span.begins,
    )
    return calls if any_model else calls.filter(model=call.model)


def _sent_at_some_time(call: Call) -> CallQuerySet:
    """By a clock that was set back since (`ledger.restart_sent_later`)."""
    pursued = Call.objects.filter(poll_at__isnull=False, key_mark="")
    return pursued.filter(provider=call.provider, model=call.model)


def _unmatched(call: Call, listing: Listing) -> list[Run]:
    """The runs around the call with an id that no call has."""
    around = [run for run in listing.runs if _span(call, WIDE).holds(run.created_at)]
    of_provider = Call.objects.filter(provider=call.provider)
    known = of_provider.filter(reference__in=[run.reference for run in around])
    matched = set(known.values_list("reference", flat=True))
    return [run for run in around if run.reference not in matched]


def _some_are_strange(call: Call, unmatched: list[Run]) -> bool:
    """A run of a model that this site sent nothing to: the key is not exclusive, or the list names
    models otherwise than we do."""
    asked = _sent_around(call, WIDE, any_model=True).values_list("model", flat=True).distinct()
    return not {run.model for run in unmatched} <= set(asked)


def _not_executed(call: Call, listing: Listing) -> Verdict:
    """`answer_by` is the last moment to send and the whole time to answer."""
    lag = settings.PROVIDER_ACCOUNTS[call.provider].list_lag
    if lag is None:
        return CannotTell("lag_unknown")
    if listing.asked_at < call.answer_by + lag + SKEW:
        return CannotTell("too_early")
    return NotExecuted(f"none of {len(listing.runs)} runs at {listing.asked_at:%H:%M:%S} UTC")
