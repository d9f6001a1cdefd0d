"""The four steps of a picture as a page shows them, computed from the job and its history.

    reserved -> sent -> generating -> saving

Pure: the same rows and the same instant give the same steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from jobs.core.models import Event, Job
from jobs.core.states import JobState
from jobs.pictures.words import WORDS
from jobs.words.wording import day_in_words

BACK_IN_QUEUE = ("busy", "send_window_missed", "fallback")


@dataclass(frozen=True)
class Step:
    name: str
    title: str
    state: str
    """One of `wording.MARKS`."""
    detail: str = ""
    lasted: timedelta | None = None

    @property
    def goes_on(self) -> bool:
        return self.state in ("current", "doubt")


@dataclass(frozen=True)
class _Span:
    began: datetime | None
    ended: datetime | None


def build_steps(job: Job, events: Iterable[Event], now: datetime) -> list[Step]:
    """`events` in the order they were written."""
    story = list(events)
    spans = _spans(job, _latest(story))
    stopped = next((name for name, span in spans.items() if span.ended is None), "")
    return [_step(name, span, name == stopped, job, story, now) for name, span in spans.items()]


def _latest(events: list[Event]) -> dict[str, datetime]:
    """When each thing last happened; going back to the queue undoes the sending."""
    at: dict[str, datetime] = {}
    for event in events:
        if event.name in BACK_IN_QUEUE:
            at.pop("sent", None)
            at.pop("accepted", None)
        at[event.name] = event.at
    return at


def _spans(job: Job, at: dict[str, datetime]) -> dict[str, _Span]:
    made = at.get("made_late") or at.get("made")
    accepted = at.get("accepted") or made
    sent = at.get("sent")
    return {
        "reserved": _Span(job.created_at, job.created_at),
        "sent": _Span(sent or job.created_at, accepted),
        "generating": _Span(accepted, made),
        "saving": _Span(made, at.get("ready")),
    }


def _step(
    name: str, span: _Span, is_stopped: bool, job: Job, story: list[Event], now: datetime
) -> Step:
    state = "waiting"
    if span.ended:
        state = "done"
    elif is_stopped:
        # What the first step without an end is, by the state of its job.
        state = {
            JobState.IN_DOUBT: "doubt",
            JobState.NOT_CONFIRMED: "doubt",
            JobState.FAILED: "stopped",
            JobState.CANCELLED: "waiting",
        }.get(JobState(job.state), "current")
    return Step(
        name=name,
        title=_title(name, state),
        state=state,
        detail=_detail(name, state, job, story),
        lasted=None if name == "reserved" else _lasted(span, state, job, now),
    )


def _lasted(span: _Span, state: str, job: Job, now: datetime) -> timedelta | None:
    if state == "waiting" or span.began is None:
        return None
    return (span.ended or job.ended_at or now) - span.began


def _title(name: str, state: str) -> str:
    is_ahead = state in ("waiting", "current", "stopped")
    return {
        "reserved": _("Slot reserved"),
        "sent": _("Sending to the provider") if is_ahead else _("Sent to the provider"),
        "generating": _("Generating"),
        "saving": _("Saving the picture"),
    }[name]


def _detail(name: str, state: str, job: Job, story: list[Event]) -> str:
    if name == "reserved":
        return _slot(job)
    if state == "stopped":
        return WORDS.reason_in_words(job.reason)
    if name == "sent" and job.state == JobState.QUEUED:
        is_busy = bool(story) and story[-1].name == "busy"
        return _("The provider was busy") if is_busy else _("Waiting in the queue")
    if name == "sent" and state != "waiting":
        facts: dict = next((event.facts for event in reversed(story) if event.name == "sent"), {})
        return _("%(provider)s, model %(model)s") % facts if "model" in facts else ""
    if name == "saving" and state == "current" and story:
        return {
            "fetch_failed": _("We could not download the file yet. We will try again."),
            "store_failed": _("We could not save the file yet. We will try again."),
        }.get(story[-1].name, "")
    return ""


def _slot(job: Job) -> str:
    attempt = job.attempt
    if attempt is None:
        return ""
    return _("%(slot)s of %(allowed)s for %(day)s") % {
        "slot": attempt.slot,
        "allowed": attempt.allowed,
        "day": day_in_words(attempt.day),
    }
