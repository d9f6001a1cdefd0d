"""How long a model usually takes, by the last calls that it finished on this site."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, When
from django.db.models.functions import Coalesce

from providers.calls.models import Call
from providers.calls.states import CallState

FEWEST = 20
LAST = 100


@dataclass(frozen=True)
class Usual:
    """Half of the calls were done by `half`, nine of ten by `most`; since they were accepted, or
    sent if they were answered at once."""

    half: timedelta
    most: timedelta


@dataclass(frozen=True)
class Recent:
    """The last calls that a model finished, newest first: when each was accepted, or sent if it was
    answered at once, and when it ended."""

    spans: tuple[tuple[datetime | None, datetime | None], ...]

    @property
    def last_at(self) -> datetime | None:
        return self.spans[0][1] if self.spans else None

    @property
    def usual(self) -> Usual | None:
        """None before there are enough calls to speak of."""
        lasted = sorted(ended - accepted for accepted, ended in self.spans if accepted and ended)
        if len(lasted) < FEWEST:
            return None
        return Usual(_rank(lasted, 0.5), _rank(lasted, 0.9))


def usual_duration(provider: str, model: str) -> Usual | None:
    return recent_of(provider, model).usual


def recent_of(provider: str, model: str) -> Recent:
    """One query of a hundred rows at most."""
    finished = Call.objects.filter(provider=provider, model=model, state=CallState.SUCCEEDED)
    # A call that was answered at once was not accepted before: it has no reference.
    at_once = When(reference=None, then=Coalesce("accepted_at", "sent_at"))
    began_at = Case(at_once, default="accepted_at")
    spans = finished.order_by("-ended_at").values_list(began_at, "ended_at")
    return Recent(tuple(spans[:LAST]))


def _rank(ascending: list[timedelta], share: float) -> timedelta:
    return ascending[math.ceil(share * len(ascending)) - 1]
