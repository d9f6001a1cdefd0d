"""The sentences of a page about a job, from its rows: only what is known, and since when.

The sentences are facts about the call and the slot; none says "failed" without evidence.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.core.models import Event, Job
from jobs.core.reasons import JobReason
from jobs.core.states import JobState
from jobs.pictures.words import WORDS
from jobs.words import history, wording
from jobs.words.quota import slot_in_words
from providers.adapters.registry import is_sandbox
from providers.calls.durations import Usual
from providers.calls.models import Call
from providers.calls.poll_times import slow_interval
from providers.recovery import why_not_to_ask
from quotas.days import utc_day
from quotas.states import AttemptState

MOST_AHEAD = 100
USUALLY = timedelta(minutes=6)
"""What is said of a model that has not finished enough calls here."""


@dataclass(frozen=True)
class Known:
    """The rows that a job's sentences speak of."""

    job: Job
    events: tuple[Event, ...]
    call: Call | None
    ahead: int
    now: datetime
    usual: Usual | None = None

    def said_at(self, name: str) -> datetime | None:
        return next((event.at for event in reversed(self.events) if event.name == name), None)


def build_sentences(known: Known) -> list[str]:
    """The sentences to show. The first gives the status."""
    return [sentence for sentence in SAID[JobState(known.job.state)](known) if sentence]


def _queued(known: Known) -> list[str]:
    last = known.events[-1].name if known.events else ""
    if last == "busy":
        return [_("All providers are busy. You keep your place in the queue."), you_can_leave()]
    return [_line(known.ahead), you_can_leave()]


def _line(ahead: int) -> str:
    if ahead == 0:
        return _("You are next in the queue.")
    if ahead >= MOST_AHEAD:
        return _("Waiting in the queue. More than %(count)s requests are ahead of you.") % {
            "count": MOST_AHEAD - 1
        }
    return ngettext(
        "Waiting in the queue. %(count)s request is ahead of you.",
        "Waiting in the queue. %(count)s requests are ahead of you.",
        ahead,
    ) % {"count": ahead}


def _running(known: Known) -> list[str]:
    return [_progress(known), _fallback(known), *(_wish(known) or [you_can_leave()])]


def _fallback(known: Known) -> str:
    """The provider used instead of the chosen one, and why."""
    chosen = known.job.params
    sent = next((event.facts for event in reversed(known.events) if event.name == "sent"), chosen)
    if (sent["provider"], sent["model"]) == (chosen["provider"], chosen["model"]):
        return ""
    names = {
        "maker": f"{sent['provider']}, {sent['model']}",
        "chosen": f"{chosen['provider']}, {chosen['model']}",
        "because": history.because_in_words(str(sent.get("because", ""))),
    }
    if known.job.state == JobState.READY:
        return _("Made with %(maker)s because %(chosen)s %(because)s.") % names
    return _("Sent to %(maker)s because %(chosen)s %(because)s.") % names


def _progress(known: Known) -> str:
    if known.said_at("made") or known.said_at("made_late"):
        return _("The picture is made. We are downloading and saving it.")
    if known.call and known.call.no_output_at:
        return _no_output(known.call, known.now)
    until = usual_until(known)
    is_late = until is not None and known.now > until
    if known.usual:
        span = {"span": wording.span_in_words(known.usual.half, known.usual.most)}
        if is_late:
            return _("Taking longer than the usual %(span)s.") % span
        return _("Usually takes %(span)s.") % span
    if is_late:
        return _("Taking longer than usual.")
    if known.call and is_sandbox(known.call.provider):
        return _("A test picture usually takes a few seconds.")
    return _("Usually takes 3–6 minutes.")


def _no_output(call: Call, now: datetime) -> str:
    until = (call.no_output_at or now) + settings.NO_OUTPUT_WAIT
    return _(
        "The provider says that it has finished, but it lists no picture yet. We check "
        "until %(time)s. If there is still no picture then, this request fails and "
        "your slot is given back."
    ) % {"time": wording.moment_in_words(until, now)}


def usual_until(known: Known) -> datetime | None:
    """The moment from which a running job takes longer than usual; None before it was sent, and
    once its picture is made."""
    if known.job.state != JobState.RUNNING or known.said_at("made") or known.said_at("made_late"):
        return None
    sent_at = known.said_at("sent")
    if sent_at is None:
        return None
    if known.usual is None:
        return sent_at + USUALLY
    # An acceptance before the last sending is that of another call.
    return max(sent_at, known.said_at("accepted") or sent_at) + known.usual.most


def _wish(known: Known) -> list[str]:
    """The sentences about a job that its user no longer waits for."""
    unwanted_at = known.job.unwanted_at
    if unwanted_at is None:
        return []
    at = wording.moment_in_words(unwanted_at, known.now)
    return [
        _("You stopped waiting at %(time)s. We cannot take the request back.") % {"time": at},
        _(
            "If the picture arrives, it is yours and uses the slot. If it fails, the slot "
            "is given back."
        ),
    ]


def _in_doubt(known: Known) -> list[str]:
    call = known.call
    if call is None:
        return [_("We do not know yet what happened to this request.")]
    if known.job.reason == JobReason.UNREAD:
        return [
            WORDS.reason_in_words("unread"),
            _("We keep what the provider sent. Your slot is on hold."),
            _("Staff can deliver the picture or give the slot back."),
            _("We also check with the provider from time to time."),
            *_wish(known),
        ]
    if call.reference:
        says = [_silence(call, known.now), _no_second_try(), _asking(call, known.now)]
        return says + _wish(known)
    doubtful_at = known.said_at("unknown") or call.sent_at
    return [
        wording.doubt_in_words(call.rule, wording.moment_in_words(doubtful_at, known.now)),
        _no_second_try(),
        _search(call, known.now),
        _slot(known),
        *_wish(known),
    ]


def _silence(call: Call, now: datetime) -> str:
    asked = wording.moment_in_words(call.polled_at or call.deadline_at, now)
    if call.no_output_at:
        return _no_output(call, now)
    if call.last_answer.startswith("running"):
        return _("The provider is late. At %(time)s it said that it was still working.") % {
            "time": asked
        }
    return _("When we checked at %(time)s, the provider gave no usable answer.") % {"time": asked}


def _no_second_try() -> str:
    return _(
        "It may have made the picture and charged for it, so we did not send the request again."
    )


def _asking(call: Call, now: datetime) -> str:
    every = wording.interval_in_words(slow_interval(call, now))
    return _("We check every %(interval)s.") % {"interval": every}


def _search(call: Call, now: datetime) -> str:
    """For a call without a reference: whether the provider's list can show its outcome."""
    if why_not_to_ask(call):
        return _(
            "The provider gave us no reference, so we cannot check. If we learn that the "
            "picture was made, you get it."
        )
    return _(
        "The provider gave us no reference. We look for the picture in its list every "
        "%(interval)s. If we find it, you get it."
    ) % {"interval": wording.interval_in_words(slow_interval(call, now))}


def _ready(known: Known) -> list[str]:
    job = known.job
    lasted = (job.ended_at or known.now) - job.created_at
    says = [_("Ready in %(duration)s.") % {"duration": wording.duration_in_words(lasted)}]
    if known.said_at("made"):
        says.append(_fallback(known))
    if job.attempt and job.attempt.state == AttemptState.FAILED:
        says.append(_("Your slot had already been given back, so this picture used none."))
    elif job.attempt and job.ended_at and utc_day(job.ended_at) > job.attempt.day:
        day = {"day": wording.day_in_words(job.attempt.day)}
        says.append(_("It used a slot for %(day)s, the day you asked for it.") % day)
    if job.result_deleted_at:
        at = wording.moment_in_words(job.result_deleted_at, known.now)
        says.append(_gone(known) % {"time": at})
    return says


def _gone(known: Known) -> str:
    if known.said_at("expired"):
        return _(
            "The picture was removed at %(time)s. We keep visitors' pictures for a limited time."
        )
    return _("You deleted the picture at %(time)s.")


def _failed(known: Known) -> list[str]:
    if known.job.reason == JobReason.GIVEN_BACK and known.said_at("failed_late"):
        return [_no_picture(), _slot(known)]
    return [
        WORDS.reason_in_words(known.job.reason),
        _renewal(known),
        _slot(known),
    ]


def _no_picture() -> str:
    return _("We found out later that no picture was made.")


def _renewal(known: Known) -> str:
    """When a budget that was spent is there again."""
    said = known.events[-1].facts.get("renews_at") if known.events else None
    if not said:
        return ""
    renews_at = datetime.fromisoformat(str(said))
    return _("The budget renews at %(time)s.") % {
        "time": wording.moment_in_words(renews_at, known.now)
    }


def _cancelled(known: Known) -> list[str]:
    if known.job.reason == JobReason.RESTORED:
        says = _(
            "This site was restored from a backup. Your request may have been sent after the"
            " backup was made, so we cancelled it and did not send it again."
        )
        return [says, _slot(known)]
    return [
        _("You cancelled this request before we sent it."),
        _slot(known),
    ]


def _not_confirmed(known: Known) -> list[str]:
    if known.said_at("failed_late"):
        return [_no_picture(), _slot(known)]
    return [
        _("We never found out whether the picture was made."),
        _slot(known),
    ]


def _slot(known: Known) -> str:
    return slot_in_words(known.job.attempt, known.now)


def you_can_leave() -> str:
    return _("You can close this page.")


SAID = {
    JobState.QUEUED: _queued,
    JobState.RUNNING: _running,
    JobState.IN_DOUBT: _in_doubt,
    JobState.READY: _ready,
    JobState.FAILED: _failed,
    JobState.CANCELLED: _cancelled,
    JobState.NOT_CONFIRMED: _not_confirmed,
}
