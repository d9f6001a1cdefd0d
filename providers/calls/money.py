"""What calls cost, from the rows: by provider and currency, never added across currencies.

A call counts with what the provider said, else with the estimate frozen when it was sent. A day is
that of the provider's own calendar.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Count, DecimalField, F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from providers.adapters.registry import Offer, estimate_cost, find_provider
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.outcomes import LEAST_AMOUNT

NOTHING = Decimal(0)
AMOUNT = Coalesce(F("cost"), F("cost_estimate"), Value(NOTHING), output_field=DecimalField())
ESTIMATE = Coalesce(F("cost_estimate"), Value(NOTHING), output_field=DecimalField())
UNPRICED = Count("pk", filter=Q(cost_estimate=None))


@dataclass(frozen=True)
class Spend:
    """One provider's money in one currency."""

    today: Decimal = NOTHING
    at_risk: Decimal = NOTHING
    """Estimates of the calls in doubt."""
    possibly_charged: Decimal = NOTHING
    """Estimates of those given up, of any day; also where it is known late that the run exists."""
    at_risk_unpriced: int = 0
    """Calls in doubt without a price."""
    possibly_charged_unpriced: int = 0


def day_of(provider: str, now: datetime) -> tuple[datetime, datetime]:
    """Beginning and end of the provider's present day."""
    here = now.astimezone(ZoneInfo(find_provider(provider).caps.day_zone))
    begins = datetime.combine(here.date(), time.min, here.tzinfo)
    return begins, datetime.combine(here.date() + timedelta(days=1), time.min, here.tzinfo)


def cap_reached(offer: Offer, now: datetime) -> datetime | None:
    """When the day renews, if one more call could pass the provider's cap; None while it fits.

    True only while the provider's gate is locked: see `providers.routing.gates`.
    """
    cap = settings.PROVIDER_ACCOUNTS[offer.provider].daily_cap
    if cap is None:
        return None
    limit, currency = cap
    begins, renews_at = day_of(offer.provider, now)
    estimate, priced_in = estimate_cost(offer)
    is_free = estimate == 0
    if estimate is None or not (is_free or priced_in == currency):
        # A job of before the price was taken away: how much it could cost is not known.
        return renews_at
    spent = spent_between(offer.provider, currency, begins, renews_at)
    return None if spent + estimate <= limit else renews_at


def format_amount(amount: Decimal) -> str:
    """At least two decimal places, and beyond them no trailing zeros: `5.00`, `0.00015`."""
    whole, _, places = f"{amount:.8f}".partition(".")
    return f"{whole}.{places.rstrip('0'):0<2}"


def spent_between(provider: str, currency: str, begins: datetime, ends: datetime) -> Decimal:
    sent = Call.objects.filter(provider=provider, sent_at__gte=begins, sent_at__lt=ends)
    sent = sent.filter(currency=currency)
    return _exact(sent.aggregate(total=Sum(AMOUNT))["total"])


def sum_spend(providers: Iterable[str], now: datetime) -> dict[str, dict[str, Spend]]:
    """By provider and currency, in four queries over separate rows. The days are those of
    `providers`; money at risk or possibly charged covers every provider of a call, the latter also
    calls that were folded into daily sums."""
    given_up = Call.objects.unsuccessful().filter(
        state=CallState.GIVEN_UP, late_outcome__in=("", CallState.ACCEPTED)
    )
    rows = chain(
        _sums(_sent_today(providers, now), today=Sum(AMOUNT)),
        _sums(Call.objects.in_doubt(now), at_risk=Sum(ESTIMATE), at_risk_unpriced=UNPRICED),
        _sums(given_up, possibly_charged=Sum(ESTIMATE), possibly_charged_unpriced=UNPRICED),
    )
    found: dict[str, dict[str, Spend]] = defaultdict(lambda: defaultdict(Spend))
    for row in rows:
        of_provider, currency = found[row.pop("provider")], row.pop("currency")
        exact: dict[str, Any] = {
            name: _exact(said) if isinstance(said, Decimal) else said for name, said in row.items()
        }
        of_provider[currency] = replace(of_provider[currency], **exact)
    return found


def _exact(total: Decimal | None) -> Decimal:
    """SQLite sums in floating point: round to what the columns hold."""
    return (total or NOTHING).quantize(LEAST_AMOUNT)


def _sent_today(providers: Iterable[str], now: datetime) -> QuerySet[Call]:
    """Each provider's present day; all of them are read as one range of the index on provider and
    time, since SQLite reads the whole of another for days that are named apart."""
    begins = {name: day_of(name, now)[0] for name in providers}
    either = reduce(
        or_, (Q(provider=name, sent_at__gte=at) for name, at in begins.items()), Q(pk__in=[])
    )
    earliest = min(begins.values(), default=now)
    return Call.objects.filter(either, provider__in=begins, sent_at__gte=earliest)


def _sums(calls: QuerySet[Call], **sums: Sum | Count) -> QuerySet:
    return calls.order_by().values("provider", "currency").annotate(**sums)
