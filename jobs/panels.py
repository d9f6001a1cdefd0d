"""What the page of a job shows, read once from its rows: for the page and for its stream."""

from django.utils import timezone

from jobs.core import heartbeats
from jobs.core.models import Job
from jobs.core.states import OPEN
from jobs.kinds import kind_of
from jobs.notifications import notices


def panel_of(job: Job) -> dict[str, object]:
    kind, now = kind_of(job), timezone.now()
    events = tuple(job.events.order_by("pk"))
    is_open = job.state in OPEN
    return {
        **kind.panel(job, events, now),
        "job": job,
        "is_open": is_open,
        "stands_still": is_open and not heartbeats.site_moves(now),
        "actions": kind.words.actions_for(job),
        "later_try": job.retries.order_by("-created_at").first(),
        "history": [
            (event.at, kind.words.event_in_words(event.name, event.facts, job.reason))
            for event in events
        ],
        "mail": notices.mail_offer(job),
        "elapsed": (job.ended_at or now) - job.created_at,
    }
