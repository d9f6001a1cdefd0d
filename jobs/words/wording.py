"""The words of the pages: one table for the states of a job, one for its actions, its steps, the
reasons of a failure, its history, and what makes a call doubtful. Nothing here reads a row.

A status code, a provider's own text and a cost never get here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.core.events import EventName
from jobs.core.reasons import JobReason
from jobs.core.states import JobState
from providers.reasons import Reason, Rule

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

LONGEST_TITLE = 60


@dataclass(frozen=True)
class Look:
    """How a state is shown: never by colour only."""

    word: "StrPromise"
    icon: str
    tone: str
    actions: tuple[str, ...] = ()
    headline: "StrPromise | str" = ""
    """Above its sentences, where they are told before all else."""

    @property
    def favicon(self) -> str:
        return f"icon-{self.tone}.svg"


LOOKS: dict[str, Look] = {
    JobState.QUEUED: Look(JobState.QUEUED.label, "ring", "neutral", ("cancel",)),
    JobState.RUNNING: Look(JobState.RUNNING.label, "dot", "running", ("stop_waiting",)),
    JobState.IN_DOUBT: Look(
        JobState.IN_DOUBT.label,
        "diamond",
        "doubt",
        headline=gettext_lazy("We are still confirming this one"),
    ),
    JobState.READY: Look(JobState.READY.label, "tick", "ready", ("download", "reuse", "delete")),
    JobState.FAILED: Look(
        JobState.FAILED.label, "cross", "failed", ("again",), gettext_lazy("There is no picture")
    ),
    JobState.CANCELLED: Look(JobState.CANCELLED.label, "bar", "neutral", ("restart",)),
    JobState.NOT_CONFIRMED: Look(
        JobState.NOT_CONFIRMED.label,
        "clock",
        "doubt",
        ("restart",),
        JobState.NOT_CONFIRMED.label,
    ),
}

ACTIONS: dict[str, "StrPromise"] = {
    "cancel": gettext_lazy("Cancel"),
    "stop_waiting": gettext_lazy("Stop waiting"),
    "download": gettext_lazy("Download"),
    "reuse": gettext_lazy("Reuse prompt"),
    "edit": gettext_lazy("Edit prompt"),
    "again": gettext_lazy("Try again (uses a slot)"),
    "restart": gettext_lazy("Start again (uses a slot)"),
    "delete": gettext_lazy("Delete picture"),
}


@dataclass(frozen=True)
class Mark:
    """How a step of a job is shown: an icon, or its number where there is none, and a word."""

    icon: str
    word: "StrPromise"


MARKS: dict[str, Mark] = {
    "done": Mark("tick", gettext_lazy("(done)")),
    "current": Mark("dot", gettext_lazy("(now)")),
    "doubt": Mark("diamond", gettext_lazy("(not confirmed)")),
    "stopped": Mark("cross", gettext_lazy("(stopped here)")),
    "waiting": Mark("", gettext_lazy("(not started)")),
}


@dataclass(frozen=True)
class ReasonText:
    says: "StrPromise"
    action: str = "again"
    headline: "StrPromise | str" = ""
    """In the place of the state's own, where that would say more than is known."""


REASONS: dict[str, ReasonText] = {
    Reason.CONFIG: ReasonText(
        gettext_lazy("This site is not set up for this model. Only staff can fix this.")
    ),
    Reason.AUTH: ReasonText(
        gettext_lazy("The provider rejected this site's account. Only staff can fix this.")
    ),
    Reason.BALANCE: ReasonText(
        gettext_lazy("This site has run out of credit with the provider. Only staff can fix this.")
    ),
    Reason.RATE: ReasonText(gettext_lazy("All providers were busy for too long.")),
    Reason.INPUT: ReasonText(gettext_lazy("The provider did not accept this request."), "edit"),
    Reason.CONTENT: ReasonText(
        gettext_lazy("The provider refused this prompt because of its content rules."), "edit"
    ),
    Reason.NO_OUTPUT: ReasonText(gettext_lazy("The provider finished without a picture."), "edit"),
    Reason.PROVIDER: ReasonText(gettext_lazy("The provider reported an error.")),
    Reason.CANCELLED: ReasonText(gettext_lazy("The provider cancelled the request.")),
    Reason.DEADLINE: ReasonText(gettext_lazy("We had no result from the provider in time.")),
    Reason.TRANSPORT: ReasonText(
        gettext_lazy("We could not reach the provider, so nothing was sent.")
    ),
    Reason.STAFF: ReasonText(gettext_lazy("Staff have paused the provider.")),
    Reason.CAP: ReasonText(
        gettext_lazy("This site has used up its daily budget for the provider.")
    ),
    JobReason.UNWANTED: ReasonText(
        gettext_lazy(
            "The provider did not make the picture and you had stopped waiting, so we did "
            "not try again."
        )
    ),
    JobReason.NOT_FETCHED: ReasonText(
        gettext_lazy("The picture was made, but we could not download it.")
    ),
    JobReason.UNREAD: ReasonText(
        gettext_lazy("The picture was made, but we cannot read it. Staff have been notified."),
        headline=gettext_lazy("Made, but we cannot read it"),
    ),
    JobReason.GIVEN_BACK: ReasonText(
        gettext_lazy(
            "We have not found out whether the picture was made. If it still arrives, it "
            "is yours and uses no slot."
        ),
        headline=gettext_lazy("We could not confirm this one"),
    ),
}


@dataclass(frozen=True)
class Question:
    """The confirmation before an action that cannot be undone."""

    asks: "StrPromise"
    says: "StrPromise"
    yes: "StrPromise"
    no: "StrPromise"


QUESTIONS: dict[str, Question] = {
    "stop_waiting": Question(
        gettext_lazy("Stop waiting for this picture?"),
        gettext_lazy(
            "We have sent this request and cannot take it back. The provider may still "
            "make the picture and charge for it, so your slot stays on hold until we know. "
            "If the picture arrives, it is yours and uses the slot. If it fails, the slot "
            "is given back."
        ),
        gettext_lazy("Stop waiting"),
        gettext_lazy("Keep waiting"),
    ),
    "delete": Question(
        gettext_lazy("Delete this picture?"),
        gettext_lazy(
            "This permanently removes the picture and its file from this site. The prompt "
            "stays, and so does the record that a slot was used. You do not get the slot "
            "back."
        ),
        gettext_lazy("Delete picture"),
        gettext_lazy("Keep picture"),
    ),
}


@dataclass(frozen=True)
class Message:
    """What is said once, after something was done or could not be."""

    says: "StrPromise"
    tone: str


MESSAGES: dict[str, Message] = {
    "deleted": Message(gettext_lazy("The picture was deleted."), "ready"),
    "nothing_to_delete": Message(gettext_lazy("There is no picture to delete."), "failed"),
    "had_ended": Message(gettext_lazy("This request had already ended."), "neutral"),
    "had_been_cancelled": Message(
        gettext_lazy("This request had already been cancelled."), "neutral"
    ),
    "ended_before_cancel": Message(
        gettext_lazy("Too late to cancel. This request had already ended."), "failed"
    ),
    "sent_before_cancel": Message(
        gettext_lazy("Too late to cancel. We had already started sending this request."), "failed"
    ),
    "earlier_may_come": Message(
        gettext_lazy("Your earlier try may still produce a picture, so we did not start another."),
        "doubt",
    ),
    "earlier_came": Message(
        gettext_lazy("Your earlier try produced its picture after all."), "ready"
    ),
}

EVENTS: dict[EventName, "StrPromise"] = {
    EventName.RESERVED: gettext_lazy("Slot %(slot)s of %(day)s was reserved."),
    EventName.SENT: gettext_lazy("Sent to %(provider)s, model %(model)s."),
    EventName.ACCEPTED: gettext_lazy("The provider accepted the request."),
    EventName.BUSY: gettext_lazy("The provider was busy. You keep your place in the queue."),
    EventName.SEND_WINDOW_MISSED: gettext_lazy(
        "We did not send it in time. You keep your place in the queue."
    ),
    EventName.FALLBACK: gettext_lazy("%(provider)s %(because)s. We ask another provider."),
    EventName.UNKNOWN: gettext_lazy(
        "We have no clear answer from the provider. We did not send the request again."
    ),
    EventName.OVERDUE: gettext_lazy(
        "The provider is taking too long. We keep checking, less often."
    ),
    EventName.MADE: gettext_lazy("The picture was made."),
    EventName.MADE_LATE: gettext_lazy("We found out later that the picture was made."),
    EventName.FETCH_FAILED: gettext_lazy("We could not download the file. We will try again."),
    EventName.STORE_FAILED: gettext_lazy("We could not save the file. We will try again."),
    EventName.NO_OUTPUT: gettext_lazy(
        "The provider finished, but lists no picture yet. We check again."
    ),
    EventName.UNREAD: gettext_lazy(
        "We cannot read what the provider made. Staff have been notified."
    ),
    EventName.DELIVERED: gettext_lazy("Staff delivered the picture."),
    EventName.READY: gettext_lazy("The picture is ready."),
    EventName.ANOTHER: gettext_lazy("Another picture for this request arrived."),
    EventName.FAILED: gettext_lazy("This request failed. %(reason)s"),
    EventName.WORK_FAILED: gettext_lazy("One part of this request failed."),
    EventName.FAILED_LATE: gettext_lazy("We found out later that no picture was made."),
    EventName.NOT_FETCHED: gettext_lazy("We stopped trying to download the file."),
    EventName.CANCELLED: gettext_lazy("You cancelled this request."),
    EventName.RESTORED: gettext_lazy(
        "This site was restored from a backup, and this request was cancelled."
    ),
    EventName.UNWANTED: gettext_lazy("You stopped waiting."),
    EventName.DELETED: gettext_lazy("You deleted the picture."),
    EventName.REMOVED: gettext_lazy(
        "The user was deleted, and their prompts and pictures were removed."
    ),
    EventName.EXPIRED: gettext_lazy(
        "The picture was removed. We keep visitors' pictures for a limited time."
    ),
    EventName.GIVEN_UP: gettext_lazy(
        "We stopped checking. We never found out whether the picture was made."
    ),
    EventName.SET_ASIDE: gettext_lazy(
        "Something on our side keeps failing. Next try at %(until)s."
    ),
    EventName.RESUMED: gettext_lazy("Staff resumed this request."),
    EventName.GIVEN_BACK: gettext_lazy(
        "Staff gave the slot back. We keep checking for the picture."
    ),
    EventName.ATTACHED: gettext_lazy("Staff matched this request to a run at the provider."),
    EventName.MAIL_REQUESTED: gettext_lazy("You asked for an email when it ends."),
    EventName.MAIL_CANCELLED: gettext_lazy("You no longer want an email when it ends."),
}

# Why a fallback was used, after the name of the first provider.
BECAUSE: dict[str, "StrPromise"] = {
    Reason.AUTH: gettext_lazy("rejected this site's account"),
    Reason.BALANCE: gettext_lazy("had no credit left"),
    Reason.CANCELLED: gettext_lazy("cancelled the request"),
    Reason.CAP: gettext_lazy("had used up its daily budget"),
    Reason.CONTENT: gettext_lazy("refused the prompt"),
    Reason.INPUT: gettext_lazy("did not accept the request"),
    Reason.NO_OUTPUT: gettext_lazy("made no picture"),
    Reason.RATE: gettext_lazy("was busy"),
    Reason.STAFF: gettext_lazy("was paused by staff"),
}
WAS_DOWN = gettext_lazy("was unavailable")

# What made a call doubtful, by the rule on its row; any other rule is an unclear answer.
DOUBTS: dict[str, "StrPromise"] = {
    Rule.LOST: gettext_lazy("The provider stopped answering at %(time)s."),
    Rule.UNREADABLE: gettext_lazy("We could not read the provider's answer at %(time)s."),
    Rule.SENDER_LOST: gettext_lazy("We were interrupted at %(time)s while sending the request."),
    Rule.ADAPTER_RAISED: gettext_lazy(
        "Something went wrong on our side at %(time)s, before we had a usable answer."
    ),
}
UNCLEAR = gettext_lazy(
    "The provider's answer at %(time)s does not say whether it accepted the request."
)


def reason_in_words(reason: str) -> str:
    return str(REASONS.get(reason, REASONS[Reason.PROVIDER]).says)


def headline_of(state: str, reason: str) -> str:
    """Empty for a state without a headline."""
    may_differ = state in (JobState.FAILED, JobState.IN_DOUBT) and reason in REASONS
    own = REASONS[reason].headline if may_differ else ""
    return str(own or LOOKS[state].headline)


def actions_of(
    state: str, reason: str, *, is_unwanted: bool = False, is_deleted: bool = False
) -> tuple[str, ...]:
    """The owner's actions. A failure offers the one that fits its reason. A request is not offered
    twice."""
    if state == JobState.FAILED:
        return (REASONS.get(reason, REASONS[Reason.PROVIDER]).action,)
    gone = ("stop_waiting",) * is_unwanted + ("download", "delete") * is_deleted
    return tuple(name for name in LOOKS[state].actions if name not in gone)


def event_in_words(name: str, facts: Mapping[str, object], reason: str = "") -> str:
    """`reason` is the job's; `facts` are those that the event's writer put down."""
    words: dict[str, object] = {**facts, "reason": reason_in_words(reason) if reason else ""}
    if "day" in facts:
        words["day"] = day_in_words(date.fromisoformat(str(facts["day"])))
    if "because" in facts:
        words["because"] = because_in_words(str(facts["because"]))
    if "until" in facts:
        words["until"] = time_in_words(datetime.fromisoformat(str(facts["until"])))
    return (str(EVENTS[EventName(name)]) % words).strip()


def because_in_words(why: str) -> str:
    return str(BECAUSE.get(why, WAS_DOWN))


def doubt_in_words(rule: str, at: str) -> str:
    return str(DOUBTS.get(rule, UNCLEAR)) % {"time": at}


def title_of(prompt: str) -> str:
    """The first words, cut between two of them where they are not too long."""
    text = " ".join(prompt.split())
    if len(text) <= LONGEST_TITLE:
        return text or _("Picture")
    words = text[:LONGEST_TITLE].rpartition(" ")[0].rstrip(" ,.;:–-")
    return (words if len(words) > LONGEST_TITLE // 2 else text[: LONGEST_TITLE - 1]) + "…"


def day_in_words(day: date) -> str:
    return formats.date_format(day, "j M")


def time_in_words(at: datetime) -> str:
    """The server speaks UTC; the page's script may add the local time."""
    return f"{at:%H:%M} UTC"


def moment_in_words(at: datetime, now: datetime) -> str:
    """Only the time on the same day, with the date on any other."""
    time = time_in_words(at)
    return time if at.date() == now.date() else f"{day_in_words(at.date())}, {time}"


def duration_in_words(lasted: timedelta) -> str:
    """4 min 12 s: two units at most, and one decimal below ten seconds."""
    seconds = max(0.0, lasted.total_seconds())
    if seconds < 9.95:
        return _("%(seconds)s s") % {"seconds": formats.number_format(round(seconds, 1), 1)}
    whole = round(seconds)
    if whole < 60:
        return _("%(seconds)s s") % {"seconds": whole}
    if whole < 3600:
        return _("%(minutes)s min %(seconds)s s") % {"minutes": whole // 60, "seconds": whole % 60}
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours < 48:
        return _("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": minutes}
    return _("%(days)s d %(hours)s h") % {"days": hours // 24, "hours": hours % 24}


def span_in_words(least: timedelta, most: timedelta) -> str:
    """3–6 min: rounded outwards, in seconds below two minutes."""
    unit = 1 if most < timedelta(minutes=2) else 60
    first = max(1, math.floor(least.total_seconds() / unit))
    last = max(first, math.ceil(most.total_seconds() / unit))
    span = str(first) if first == last else f"{first}–{last}"
    return (_("%(span)s s") if unit == 1 else _("%(span)s min")) % {"span": span}


def interval_in_words(every: timedelta) -> str:
    """As in "We ask every 30 seconds"."""
    seconds = max(1, round(every.total_seconds()))
    if seconds % 60:
        return ngettext("second", "%(count)s seconds", seconds) % {"count": seconds}
    return ngettext("minute", "%(count)s minutes", seconds // 60) % {"count": seconds // 60}
