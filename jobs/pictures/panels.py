"""What the panel of a job shows, read once from its rows: for its page and for its stream."""

import math

from django.utils import timezone

from jobs.core import heartbeats
from jobs.core.models import Job
from jobs.core.states import OPEN, JobState
from jobs.core.works import calls_of
from jobs.notifications import notices
from jobs.words import history, wording
from jobs.words.sentences import MOST_AHEAD, Known, sentences_of, usual_until
from jobs.words.steps import steps_of
from providers.calls.durations import usual_duration


def panel_of(job: Job) -> dict[str, object]:
    known = known_of(job)
    is_open = job.state in OPEN
    pictures = list(job.pictures.select_related("call").order_by("position"))
    return {
        "job": job,
        "is_open": is_open,
        "stands_still": is_open and not heartbeats.site_moves(known.now),
        "pictures": pictures,
        "steps": steps_of(job, known.events, known.now),
        "sentences": sentences_of(known),
        "actions": actions_of(job),
        "later_try": job.retries.order_by("-created_at").first(),
        "history": [
            (event.at, history.event_in_words(event.name, event.facts, job.reason))
            for event in known.events
        ],
        "maker": (pictures and pictures[0].call) or known.call or job.params,
        "look_in": look_in(known),
        "mail": notices.mail_offer(job),
        "elapsed": (job.ended_at or known.now) - job.created_at,
    }


def look_in(known: Known) -> int | None:
    """Seconds until the panel's text changes without an event."""
    until = usual_until(known)
    if until is None or until < known.now:
        return None
    return math.ceil((until - known.now).total_seconds()) + 1


def actions_of(job: Job) -> tuple[str, ...]:
    return wording.actions_of(
        job.state,
        job.reason,
        is_unwanted=job.unwanted_at is not None,
        is_deleted=job.result_deleted_at is not None,
    )


def known_of(job: Job) -> Known:
    """Two queries for any job, and a third while it waits or runs."""
    call = calls_of(job.pk).last()
    is_running = job.state == JobState.RUNNING
    return Known(
        job=job,
        events=tuple(job.events.order_by("pk")),
        call=call,
        ahead=_ahead_of(job),
        now=timezone.now(),
        usual=usual_duration(call.provider, call.model) if call and is_running else None,
    )


def _ahead_of(job: Job) -> int:
    if job.state != JobState.QUEUED:
        return 0
    earlier = Job.objects.filter(state=JobState.QUEUED, created_at__lt=job.created_at)
    return earlier[:MOST_AHEAD].count()
