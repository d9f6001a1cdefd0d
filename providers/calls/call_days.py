"""Old calls that brought nothing become sums of a day; their money stays known.

    rejected, failed, without an id ─────────> folded
    given up at the end, no id was heard of ─> folded; their estimate stays possibly charged
    any of them with an id ──────────────────> stays: under it may lie somebody's picture
    succeeded, or late news that it had ─────> stays, for good

A paid call is no row of statistics. It is the wall itself: `call_wall` refuses to pay for its work
a second time because the row is there, and no sum can. Its stage and its pictures name it as what
made them. How long a model takes is read from these rows alone, so no sum of durations is needed.

An id is taken by its row (`call_reference_once`). Free again, it could be given to another's call,
by a webhook or by staff, and with it the picture; providers have taken a failure back before. Few
calls fail under an id beside the many that succeed, and those stay as well.

Nothing more is expected of what is folded, nobody decided about it, no fallback has to do with it.
Reading, summing and deleting is one transaction over locked rows, so that two who fold at the same
moment, or one who dies, count nothing twice.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from providers.adapters.registry import find_provider
from providers.calls.models import Call, CallDay, Hook
from providers.calls.money import NOTHING
from providers.calls.states import LET_GO, CallState

CAME_TO_NOTHING = Q(state__in=(CallState.REJECTED, CallState.FAILED))
TOLD_OF = Exists(Hook.objects.filter(call=OuterRef("pk")))
GIVEN_UP = Q(state=CallState.GIVEN_UP) & ~Q(rule=LET_GO) & ~TOLD_OF


@dataclass
class Sums:
    rejected: int = 0
    failed: int = 0
    given_up: int = 0
    cost: Decimal = NOTHING
    cost_estimate: Decimal = NOTHING
    possibly_charged: Decimal = NOTHING
    given_up_unpriced: int = 0

    def add(self, call: Call) -> None:
        self.rejected += call.state == CallState.REJECTED
        self.failed += call.state == CallState.FAILED
        if call.state == CallState.GIVEN_UP:
            self.given_up += 1
            self.possibly_charged += call.cost_estimate or NOTHING
            self.given_up_unpriced += call.cost_estimate is None
        if call.cost is None:
            self.cost_estimate += call.cost_estimate or NOTHING
        else:
            self.cost += call.cost


def foldable(now: datetime) -> QuerySet[Call]:
    """Ended long ago, pursued by nobody, contradicted by nothing, no fallback nor followed by one:
    once the later one had gone, the earlier would follow."""
    followed = Call.objects.filter(after=OuterRef("pk"))
    return Call.objects.unsuccessful().filter(
        CAME_TO_NOTHING | GIVEN_UP,
        ~Exists(followed),
        after=None,
        reference=None,
        late_outcome="",
        poll_at=None,
        ended_at__lte=now - settings.CALLS_KEPT,
        give_up_at__lte=now,
    )


@transaction.atomic
def fold(call_ids: Iterable[int], now: datetime) -> list[Call]:
    """Those that became part of a day. Raises ProtectedError for one that somebody refers to."""
    rows = foldable(now).filter(pk__in=list(call_ids))
    calls = list(rows.select_for_update(of=("self",)).order_by("pk"))
    days: dict[tuple[str, str, date, str], Sums] = {}
    for call in calls:
        key = (call.provider, call.model, day_of(call), call.currency)
        days.setdefault(key, Sums()).add(call)
    for key, sums in sorted(days.items(), key=lambda item: item[0]):
        _add_to_day(key, sums)
    Call.objects.filter(pk__in=[call.pk for call in calls]).delete()
    return calls


def day_of(call: Call) -> date:
    """Of the provider's calendar; of UTC for one that is not among the settings any more."""
    is_known = call.provider in settings.PROVIDER_ACCOUNTS
    zone = ZoneInfo(find_provider(call.provider).caps.day_zone) if is_known else UTC
    return call.sent_at.astimezone(zone).date()


def _add_to_day(key: tuple[str, str, date, str], sums: Sums) -> None:
    provider, model, day, currency = key
    row, _ = CallDay.objects.get_or_create(
        provider=provider, model=model, day=day, currency=currency
    )
    added = {name: F(name) + amount for name, amount in asdict(sums).items()}
    CallDay.objects.filter(pk=row.pk).update(**added)
