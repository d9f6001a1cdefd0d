"""The words of the pages: one table for the states of a job, one for its actions, its steps, the
reasons of a failure, its history, and what makes a call doubtful. Nothing here reads a row.

A status code, a provider's own text and a cost never get here.
"""

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

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
    """Above the sentences of states that show these first."""

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
        JobState.FAILED.label, "cross", "failed", ("again",), gettext_lazy("There is no result")
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


# The actions of any kind; a kind adds those for its own results.
ACTIONS: dict[str, "StrPromise"] = {
    "cancel": gettext_lazy("Cancel"),
    "stop_waiting": gettext_lazy("Stop waiting"),
    "again": gettext_lazy("Try again (uses a slot)"),
    "restart": gettext_lazy("Start again (uses a slot)"),
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
    Reason.INPUT: ReasonText(gettext_lazy("The provider did not accept this request.")),
    Reason.CONTENT: ReasonText(
        gettext_lazy("The provider refused this request because of its content rules.")
    ),
    Reason.NO_OUTPUT: ReasonText(gettext_lazy("The provider finished without a result.")),
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
            "The provider did not execute the request and you had stopped waiting, so we did "
            "not try again."
        )
    ),
    JobReason.NOT_FETCHED: ReasonText(
        gettext_lazy("The result was made, but we could not download it.")
    ),
    JobReason.UNREAD: ReasonText(
        gettext_lazy("The result was made, but we cannot read it. Staff have been notified."),
        headline=gettext_lazy("Made, but we cannot read it"),
    ),
    JobReason.GIVEN_BACK: ReasonText(
        gettext_lazy(
            "We have not found out whether the result was made. If it still arrives, it "
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
        gettext_lazy("Stop waiting for this request?"),
        gettext_lazy(
            "We have sent this request and cannot take it back. The provider may still "
            "execute it and charge for it, so your slot stays on hold until we know. "
            "If the result arrives, it is yours and uses the slot. If it fails, the slot "
            "is given back."
        ),
        gettext_lazy("Stop waiting"),
        gettext_lazy("Keep waiting"),
    ),
    "delete": Question(
        gettext_lazy("Delete this result?"),
        gettext_lazy(
            "This permanently removes the result and its files from this site. The record "
            "that a slot was used stays. You do not get the slot back."
        ),
        gettext_lazy("Delete result"),
        gettext_lazy("Keep result"),
    ),
}


@dataclass(frozen=True)
class Message:
    """What is said once, after something was done or could not be."""

    says: "StrPromise"
    tone: str


class MessageName(StrEnum):
    DELETED = "deleted"
    NOTHING_TO_DELETE = "nothing_to_delete"
    HAD_ENDED = "had_ended"
    HAD_BEEN_CANCELLED = "had_been_cancelled"
    ENDED_BEFORE_CANCEL = "ended_before_cancel"
    SENT_BEFORE_CANCEL = "sent_before_cancel"
    EARLIER_MAY_COME = "earlier_may_come"
    EARLIER_CAME = "earlier_came"


MESSAGES: dict[MessageName, Message] = {
    MessageName.DELETED: Message(gettext_lazy("The result was deleted."), "ready"),
    MessageName.NOTHING_TO_DELETE: Message(gettext_lazy("There is no result to delete."), "failed"),
    MessageName.HAD_ENDED: Message(gettext_lazy("This request had already ended."), "neutral"),
    MessageName.HAD_BEEN_CANCELLED: Message(
        gettext_lazy("This request had already been cancelled."), "neutral"
    ),
    MessageName.ENDED_BEFORE_CANCEL: Message(
        gettext_lazy("Too late to cancel. This request had already ended."), "failed"
    ),
    MessageName.SENT_BEFORE_CANCEL: Message(
        gettext_lazy("Too late to cancel. We had already started sending this request."), "failed"
    ),
    MessageName.EARLIER_MAY_COME: Message(
        gettext_lazy("Your earlier try may still produce a result, so we did not start another."),
        "doubt",
    ),
    MessageName.EARLIER_CAME: Message(
        gettext_lazy("Your earlier try produced its result after all."), "ready"
    ),
}

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


def doubt_in_words(rule: str, at: str) -> str:
    return str(DOUBTS.get(rule, UNCLEAR)) % {"time": at}


def title_of(prompt: str) -> str:
    """The first words, cut between two of them where they are not too long."""
    text = " ".join(prompt.split())
    if len(text) <= LONGEST_TITLE:
        return text
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
