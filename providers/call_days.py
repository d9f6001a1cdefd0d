"""Old calls that came to nothing become sums of a day; their money stays known.

Only rejected and failed calls, about which nothing more is expected: the paid, the unknown and the
given up stay as they are. Reading, summing and deleting is one transaction over locked rows, so
that two who fold at the same moment, or one who dies, count nothing twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from providers.models import Call, CallDay
from providers.registry import provider_named
from providers.states import CallState

NOTHING = Decimal(0)
FOLDED = (CallState.REJECTED, CallState.FAILED)


@dataclass
class Sums:
    rejected: int = 0
    failed: int = 0
    cost: Decimal = NOTHING
    cost_estimate: Decimal = NOTHING

    def add(self, call: Call) -> None:
        self.rejected += call.state == CallState.REJECTED
        self.failed += call.state == CallState.FAILED
        if call.cost is None:
            self.cost_estimate += call.cost_estimate or NOTHING
        else:
            self.cost += call.cost


def foldable(now: datetime) -> QuerySet[Call]:
    """Ended long ago, pursued by nobody, contradicted by nothing, named by no later call."""
    followed = Call.objects.filter(after=OuterRef("pk"))
    return Call.objects.unsuccessful().filter(
        ~Exists(followed),
        state__in=FOLDED,
        late_outcome="",
        poll_at=None,
        ended_at__lte=now - settings.CALLS_KEPT,
        give_up_at__lte=now,
    )


@transaction.atomic
def fold(call_ids: Iterable[int], now: datetime) -> int:
    """How many became part of a day. Raises ProtectedError for one that somebody refers to."""
    rows = foldable(now).filter(pk__in=list(call_ids))
    calls = list(rows.select_for_update(of=("self",)).order_by("pk"))
    days: dict[tuple[str, str, date, str], Sums] = {}
    for call in calls:
        key = (call.provider, call.model, day_of(call), call.currency)
        days.setdefault(key, Sums()).add(call)
    for key, sums in sorted(days.items(), key=lambda item: item[0]):
        _add_to_day(key, sums)
    Call.objects.filter(pk__in=[call.pk for call in calls]).delete()
    return len(calls)


def day_of(call: Call) -> date:
    """Of the provider's calendar; of UTC for one that is not among the settings any more."""
    is_known = call.provider in settings.PROVIDER_ACCOUNTS
    zone = ZoneInfo(provider_named(call.provider).caps.day_zone) if is_known else UTC
    return call.sent_at.astimezone(zone).date()


def _add_to_day(key: tuple[str, str, date, str], sums: Sums) -> None:
    provider, model, day, currency = key
    row, _ = CallDay.objects.get_or_create(
        provider=provider, model=model, day=day, currency=currency
    )
    CallDay.objects.filter(pk=row.pk).update(
        rejected=F("rejected") + sums.rejected,
        failed=F("failed") + sums.failed,
        cost=F("cost") + sums.cost,
        cost_estimate=F("cost_estimate") + sums.cost_estimate,
    )
