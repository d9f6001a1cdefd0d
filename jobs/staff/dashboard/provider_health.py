"""The state of each provider: its gate, its money, its speed and its errors of the last day."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Case, Count, F, Value, When
from django.utils.translation import gettext as _

from jobs.staff.dashboard.figures import Flight
from jobs.staff.dashboard.smoke_tests import Tested, tested_of
from jobs.words.gates import GateState, describe_gate, reason_in_words
from providers.adapters.registry import Offer, fallback_offers, known_names, offers
from providers.calls.durations import Recent, Usual, recent_of
from providers.calls.models import Call, Gate, SmokeTest
from providers.calls.money import NOTHING, Spend
from providers.calls.states import CallState
from providers.routing.gates import WHOLE

ERRORS_OF = timedelta(hours=24)
WENT_WELL = (CallState.ACCEPTED, CallState.SUCCEEDED)


@dataclass(frozen=True)
class Amount:
    """What was spent today in one currency; the cap is in one of them at most."""

    spent: Decimal
    currency: str
    cap: Decimal | None = None

    @property
    def is_over(self) -> bool:
        return self.cap is not None and self.spent >= self.cap


@dataclass(frozen=True)
class Speed:
    model: str
    usual: Usual | None


@dataclass(frozen=True)
class Answers:
    """Of the requests sent in the last day: how many, and how many of them went wrong, by kind;
    one that was lost and found again is not among these."""

    sent: int = 0
    errors: tuple[tuple[str, int], ...] = ()

    @property
    def error_percent(self) -> float | None:
        return 100 * sum(count for _kind, count in self.errors) / self.sent if self.sent else None


@dataclass(frozen=True)
class ProviderHealth:
    name: str
    state: GateState
    blocked_models: tuple[tuple[str, GateState], ...]
    last_success_at: datetime | None
    amounts: tuple[Amount, ...]
    flight: Flight
    speeds: tuple[Speed, ...]
    answers: Answers
    tested: Tested

    @property
    def may_be_paused(self) -> bool:
        return not self.state.is_by_staff

    @property
    def may_be_resumed(self) -> bool:
        return self.state.tone == "paused" or bool(self.blocked_models)


@dataclass
class Rows:
    """What was read for all providers at once."""

    gates: dict[str, dict[str, Gate]] = field(default_factory=dict)
    recent: dict[Offer, Recent] = field(default_factory=dict)
    answers: dict[str, Answers] = field(default_factory=dict)
    spends: dict[str, dict[str, Spend]] = field(default_factory=dict)
    flights: dict[str, Flight] = field(default_factory=dict)
    tests: dict[str, SmokeTest] = field(default_factory=dict)


def gates_by_provider() -> dict[str, dict[str, Gate]]:
    found: dict[str, dict[str, Gate]] = defaultdict(dict)
    for gate in Gate.objects.select_related("probe"):
        found[gate.provider][gate.model] = gate
    return found


def recent_by_offer() -> dict[Offer, Recent]:
    """One query a model that is configured, of a hundred rows each."""
    asked = dict.fromkeys([*offers(), *fallback_offers()])
    return {offer: recent_of(offer.provider, offer.model) for offer in asked}


def answers_by_provider(now: datetime) -> dict[str, Answers]:
    sent = Call.objects.filter(provider__in=known_names(), sent_at__gt=now - ERRORS_OF)
    wrong = Case(When(state__in=WENT_WELL, then=Value("")), default=F("why"))
    counted = sent.order_by().values("provider", wrong=wrong).annotate(calls=Count("*"))
    by_why: dict[str, dict[str, int]] = defaultdict(dict)
    for provider, why, calls in counted.values_list("provider", "wrong", "calls"):
        by_why[provider][why] = calls
    return {name: _answers(calls) for name, calls in by_why.items()}


def standings(rows: Rows, now: datetime) -> list[ProviderHealth]:
    """Pure: in the order of their names."""
    return [_standing(name, rows, now) for name in known_names()]


def _standing(name: str, rows: Rows, now: datetime) -> ProviderHealth:
    gates = rows.gates.get(name, {})
    recent = {offer.model: seen for offer, seen in rows.recent.items() if offer.provider == name}
    seen = [each.last_at for each in recent.values() if each.last_at]
    models = [
        (model, describe_gate(gate, now)) for model, gate in sorted(gates.items()) if model != WHOLE
    ]
    blocked = [(model, state) for model, state in models if state.tone == "paused"]
    return ProviderHealth(
        name=name,
        state=_whole(gates.get(WHOLE), is_used=bool(recent), is_failing=bool(blocked), now=now),
        blocked_models=tuple(blocked),
        last_success_at=max(seen, default=None),
        amounts=_amounts(name, rows.spends.get(name, {})),
        flight=rows.flights.get(name, Flight()),
        speeds=tuple(Speed(model, each.usual) for model, each in recent.items()),
        answers=rows.answers.get(name, Answers()),
        tested=tested_of(rows.tests.get(name), now),
    )


def _whole(gate: Gate | None, *, is_used: bool, is_failing: bool, now: datetime) -> GateState:
    state = describe_gate(gate, now)
    if state.tone != "up":
        return state
    if is_failing:
        return GateState("failing", _("Some models paused"))
    return state if is_used else GateState("unused", _("Not in use"))


def _amounts(name: str, spends: dict[str, Spend]) -> tuple[Amount, ...]:
    spent = {currency: spend.today for currency, spend in spends.items() if spend.today}
    cap, capped = settings.PROVIDER_ACCOUNTS[name].daily_cap or (None, "")
    if cap is not None:
        spent.setdefault(capped, NOTHING)
    return tuple(
        Amount(amount, currency, cap if currency == capped else None)
        for currency, amount in sorted(spent.items())
    )


def _answers(calls: dict[str, int]) -> Answers:
    errors = [(reason_in_words(why), count) for why, count in calls.items() if why]
    errors.sort(key=lambda error: (-error[1], error[0]))
    return Answers(sent=sum(calls.values()), errors=tuple(errors))
