"""What the page of a picture's job shows beside that of any job: pictures, steps, sentences."""

import math
from collections.abc import Sequence
from datetime import datetime

from jobs.core.models import Event, Job
from jobs.core.states import JobState
from jobs.core.works import find_calls
from jobs.pictures.words.sentences import MOST_AHEAD, Known, build_sentences, usual_until
from jobs.pictures.words.steps import build_steps
from providers.calls.durations import usual_duration


def build_panel(job: Job, events: Sequence[Event], now: datetime) -> dict[str, object]:
    known = _known(job, events, now)
    pictures = list(job.pictures.select_related("call").order_by("position"))
    return {
        "pictures": pictures,
        "has_result": bool(pictures),
        "steps": build_steps(job, events, now),
        "sentences": build_sentences(known),
        "maker": (pictures and pictures[0].call) or known.call or job.params,
        "look_in": look_in(known),
    }


def look_in(known: Known) -> int | None:
    """Seconds until the panel's text changes without an event."""
    until = usual_until(known)
    if until is None or until < known.now:
        return None
    return math.ceil((until - known.now).total_seconds()) + 1


def _known(job: Job, events: Sequence[Event], now: datetime) -> Known:
    """One query for any job, and a second while it waits or runs."""
    call = find_calls(job.pk).last()
    is_running = job.state == JobState.RUNNING
    return Known(
        job=job,
        events=tuple(events),
        call=call,
        ahead=_ahead_of(job),
        now=now,
        usual=usual_duration(call.provider, call.model) if call and is_running else None,
    )


def _ahead_of(job: Job) -> int:
    if job.state != JobState.QUEUED:
        return 0
    earlier = Job.objects.filter(state=JobState.QUEUED, created_at__lt=job.created_at)
    return earlier[:MOST_AHEAD].count()
