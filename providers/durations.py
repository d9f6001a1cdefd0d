"""How long a model usually takes, by the last calls that it finished on this site."""

import math
from dataclasses import dataclass
from datetime import timedelta

from providers.models import Call
from providers.states import CallState

FEWEST = 20
LAST = 100


@dataclass(frozen=True)
class Usual:
    """Half of the calls were done by `half`, nine of ten by `most`; since they were accepted."""

    half: timedelta
    most: timedelta


def usual_duration(provider: str, model: str) -> Usual | None:
    """None before there are enough calls to speak of. Reads a hundred rows at most."""
    finished = Call.objects.filter(
        provider=provider, model=model, state=CallState.SUCCEEDED, accepted_at__isnull=False
    )
    spans = finished.order_by("-ended_at").values_list("accepted_at", "ended_at")[:LAST]
    lasted = sorted(ended - accepted for accepted, ended in spans if accepted and ended)
    if len(lasted) < FEWEST:
        return None
    return Usual(_rank(lasted, 0.5), _rank(lasted, 0.9))


def _rank(ascending: list[timedelta], share: float) -> timedelta:
    return ascending[math.ceil(share * len(ascending)) - 1]
