"""The history of a job in words: its events, and why another provider was used."""

from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from jobs.core.events import EventName
from providers.reasons import Reason

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

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
    EventName.MADE: gettext_lazy("The result was made."),
    EventName.MADE_LATE: gettext_lazy("We found out later that the result was made."),
    EventName.FETCH_FAILED: gettext_lazy("We could not download the file. We will try again."),
    EventName.STORE_FAILED: gettext_lazy("We could not save the file. We will try again."),
    EventName.NO_OUTPUT: gettext_lazy(
        "The provider finished, but lists no result yet. We check again."
    ),
    EventName.UNREAD: gettext_lazy(
        "We cannot read what the provider made. Staff have been notified."
    ),
    EventName.DELIVERED: gettext_lazy("Staff delivered the result."),
    EventName.READY: gettext_lazy("The result is ready."),
    EventName.ANOTHER: gettext_lazy("Another result for this request arrived."),
    EventName.FAILED: gettext_lazy("This request failed. %(reason)s"),
    EventName.WORK_FAILED: gettext_lazy("One part of this request failed."),
    EventName.FAILED_LATE: gettext_lazy("We found out later that no result was made."),
    EventName.NOT_FETCHED: gettext_lazy("We stopped trying to download the file."),
    EventName.CANCELLED: gettext_lazy("You cancelled this request."),
    EventName.RESTORED: gettext_lazy(
        "This site was restored from a backup, and this request was cancelled."
    ),
    EventName.UNWANTED: gettext_lazy("You stopped waiting."),
    EventName.DELETED: gettext_lazy("You deleted the result."),
    EventName.REMOVED: gettext_lazy(
        "The user was deleted, and their requests and results were removed."
    ),
    EventName.EXPIRED: gettext_lazy(
        "The result was removed. We keep visitors' results for a limited time."
    ),
    EventName.GIVEN_UP: gettext_lazy(
        "We stopped checking. We never found out whether the result was made."
    ),
    EventName.SET_ASIDE: gettext_lazy(
        "Something on our side keeps failing. Next try at %(until)s."
    ),
    EventName.RESUMED: gettext_lazy("Staff resumed this request."),
    EventName.GIVEN_BACK: gettext_lazy(
        "Staff gave the slot back. We keep checking for the result."
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
    Reason.NO_OUTPUT: gettext_lazy("made nothing"),
    Reason.RATE: gettext_lazy("was busy"),
    Reason.STAFF: gettext_lazy("was paused by staff"),
}
WAS_DOWN = gettext_lazy("was unavailable")


def because_in_words(why: str) -> str:
    return str(BECAUSE.get(why, WAS_DOWN))
