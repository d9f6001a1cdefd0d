"""The providers that may be tried next for a work: the chosen one, then `IMAGE_FALLBACK`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from providers.adapters.registry import Offer, fallback_offers, is_known
from providers.calls.models import Call
from providers.reasons import Reason, Rule
from providers.routing.fallback import may_be_repeated, rule_after


@dataclass(frozen=True)
class Candidate:
    """An offer that may be tried. `after` and `rule`: the call and the rule that allow a fallback;
    `not_before`: the end of the wait that this provider demanded for this work."""

    offer: Offer
    is_new: bool = True
    """Not tried for this work before."""
    after: Call | None = None
    rule: str = ""
    not_before: datetime | None = None


def candidates(chosen: Offer, calls: Sequence[Call]) -> list[Candidate]:
    """In order of preference. `calls` are all of the work, oldest first; none may be tried while
    one of them is on its way, has been paid, or ended without a rule that allows another."""
    if any(not rule_after(call, after_billed=settings.FALLBACK_AFTER_BILLED) for call in calls):
        return []
    latest = {Offer(call.provider, call.model): call for call in calls}
    last = calls[-1] if calls else None
    rule = rule_after(last, after_billed=settings.FALLBACK_AFTER_BILLED) if last else Rule.PAUSED
    found = []
    for offer in dict.fromkeys([chosen, *fallback_offers()]):
        asked = latest.get(offer)
        if not is_known(offer.provider) or (asked and not may_be_repeated(asked)):
            continue
        not_before = _turn_of(asked, calls) if asked else None
        if offer == chosen:
            found.append(Candidate(offer, asked is None, not_before=not_before))
        else:
            found.append(Candidate(offer, asked is None, last, rule, not_before))
    return found


def _turn_of(asked: Call, calls: Sequence[Call]) -> datetime | None:
    """As long as the provider said, but each refusal of a work waits longer than the last."""
    if asked.again_at is None or asked.ended_at is None or asked.why != "rate":
        return None
    refusals = sum(call.why == Reason.RATE for call in calls)
    least = min(timedelta(seconds=2**refusals), settings.ERROR_PAUSE)
    return max(asked.again_at, asked.ended_at + least)
