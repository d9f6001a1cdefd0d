"""When a call is polled next. Pure."""

import random
from datetime import datetime, timedelta

from django.conf import settings

from providers.adapters.registry import longest_answer
from providers.calls.models import Call

# Polls within NO_OUTPUT_WAIT of a run that is complete without output.
NO_OUTPUT_POLLS = 12


def next_poll(call: Call, now: datetime) -> datetime:
    """Every 3 s until the deadline; then, and for a call without an id, more slowly. Never past the
    retention."""
    is_quick = call.reference is not None and now < call.deadline_at
    every = settings.POLL_EVERY if is_quick else slow_interval(call, now)
    if call.no_output_at:
        every = max(settings.POLL_EVERY, settings.NO_OUTPUT_WAIT / NO_OUTPUT_POLLS)
    return min(now + every * random.uniform(0.9, 1.1), call.give_up_at)


def slow_interval(call: Call, now: datetime) -> timedelta:
    """Past the deadline: 30 s, and 10 min after a day."""
    is_old = now >= call.sent_at + timedelta(days=1)
    return (20 if is_old else 1) * settings.SLOW_POLL_EVERY


def longest_interval() -> timedelta:
    """Between two looks at a call, or until its submit's answer is due."""
    return max(22 * settings.SLOW_POLL_EVERY, settings.POLL_EVERY, longest_answer())
