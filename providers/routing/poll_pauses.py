"""Pauses of an account's polls and lists after a 429: as long as it states, or in growing steps.

    429 ──> paused until an absolute time, by whichever ticker is on duty
      a poll of after that time: answered ──> the steps restart; 429 ──> the next step

A 429 proves nothing about the run. Submits have gates of their own (`providers.routing.gates`).
"""

import random
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from providers.calls import ledger
from providers.calls.models import Call, Gate
from providers.routing.gates import WHOLE
from providers.wire.retry_after import LONGEST

LONGEST_PAUSE = timedelta(seconds=LONGEST)
MOST_STEPS = 10
SPREAD_SHARE = 4
OTHER_RUN_EVERY = timedelta(seconds=30)


def start(provider: str, *, polled_at: datetime, now: datetime, retry_after: float | None) -> bool:
    """Pause the account's polls. Of answers to polls that were on their way together, only the
    first takes a step; a longer stated time still counts."""
    gate = _whole(provider)
    step = min(gate.poll_pauses + 1, MOST_STEPS)
    length = timedelta(seconds=retry_after) if retry_after else settings.POLL_EVERY * 2**step
    until = now + min(length, LONGEST_PAUSE)
    same = Gate.objects.filter(pk=gate.pk, poll_pauses=gate.poll_pauses)
    is_over = Q(polls_paused_until=None) | Q(polls_paused_until__lte=polled_at)
    # Further ahead than any pause: the clock was set back since.
    is_impossible = Q(polls_paused_until__gt=now + LONGEST_PAUSE)
    if same.filter(is_over | is_impossible).update(polls_paused_until=until, poll_pauses=step):
        return True
    if retry_after:
        shorter = Gate.objects.filter(pk=gate.pk, polls_paused_until__lt=until)
        return shorter.update(polls_paused_until=until) == 1
    return False


def end_steps(provider: str, *, polled_at: datetime) -> None:
    """A poll of after the last pause was answered. Where there was none nothing is written."""
    paused = Gate.objects.filter(provider=provider, model=WHOLE, poll_pauses__gt=0)
    over = paused.filter(polls_paused_until__lte=polled_at)
    if over.exists():
        over.update(poll_pauses=0, polls_paused_until=None)


def paused_until(now: datetime) -> dict[str, datetime]:
    """By provider; without times that no pause can have."""
    paused = Gate.objects.filter(
        model=WHOLE, polls_paused_until__gt=now, polls_paused_until__lte=now + LONGEST_PAUSE
    )
    return {gate.provider: gate.polls_paused_until for gate in paused if gate.polls_paused_until}


def postpone(calls: list[Call], now: datetime) -> tuple[list[Call], list[Call]]:
    """The calls that may be polled now, and those held back. The latter are due after their
    account's pause, spread so that they do not all come at once; at their deadline if it is
    earlier, since it passes whether they are polled or not."""
    paused = paused_until(now) if calls else {}
    held = [call for call in calls if call.provider in paused]
    for call in held:
        until = paused[call.provider]
        spread = max(settings.POLL_EVERY, (until - now) / SPREAD_SHARE)
        call.poll_at = min(until + spread * random.random(), max(call.give_up_at, until))
        if now < call.deadline_at < call.poll_at:
            call.poll_at = call.deadline_at
    if held:
        ledger.postpone_polls(held)
    return [call for call in calls if call.provider not in paused], held


def note_other_run(provider: str, now: datetime) -> bool:
    """Remember when an answer last named another run. False where one was noted just before."""
    whole = Gate.objects.filter(pk=_whole(provider).pk)
    just_noted = Q(other_run_at__gt=now - OTHER_RUN_EVERY, other_run_at__lte=now)
    return whole.exclude(just_noted).update(other_run_at=now) == 1


def _whole(provider: str) -> Gate:
    Gate.objects.bulk_create([Gate(provider=provider, model=WHOLE)], ignore_conflicts=True)
    return Gate.objects.get(provider=provider, model=WHOLE)
