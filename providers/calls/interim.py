"""What a run's interim answers say beside the state of its call: that it is complete without
output, and what it costs."""

from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.db.models import Q

from providers.calls.models import Call
from providers.calls.states import LIVE, CallState


def note_no_output(call: Call, now: datetime) -> bool:
    """Keep when the run was first reported complete without any output; True only the first time. A
    later instant was written before the clock was set back."""
    first = Call.objects.filter(pk=call.pk, no_output_at=None).update(no_output_at=now)
    Call.objects.filter(pk=call.pk, no_output_at__gt=now).update(no_output_at=now)
    return first == 1


def note_cost(call: Call, cost: Decimal | None) -> None:
    """Record the cost in a later or an interim answer. No answer lowers it. For a call that was
    known not to have been executed, only its end sets a cost."""
    if cost is None:
        return
    is_billed = Q(state__in=[*LIVE, CallState.SUCCEEDED]) | Q(late_outcome=CallState.SUCCEEDED)
    is_more = Q(cost=None) | Q(cost__lt=cost)
    Call.objects.filter(is_billed & is_more, pk=call.pk).update(cost=cost)


def forget_no_output(call: Call) -> None:
    """It is running after all."""
    if call.no_output_at:
        Call.objects.filter(pk=call.pk).update(no_output_at=None)


def has_waited_for_output(call: Call, now: datetime) -> bool:
    since = Call.objects.values_list("no_output_at", flat=True).get(pk=call.pk)
    return since is not None and now >= since + settings.NO_OUTPUT_WAIT
