"""What pages and emails say about pictures, where the words that kinds share do not name them."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.core.events import EventName
from jobs.core.models import Job
from jobs.core.reasons import JobReason
from jobs.core.states import JobState
from jobs.words.kind_words import KindWords
from jobs.words.wording import Message, MessageName, Question, ReasonText, title_of
from providers.reasons import Reason


def title(job: Job) -> str:
    return title_of(job.prompt) or _("Picture")


WORDS = KindWords(
    title=title,
    mail=gettext_lazy("Your picture from %(requested)s: %(state)s."),
    mail_reason=gettext_lazy(
        "You asked for this email on the picture's page. We will not send another about it."
    ),
    actions={
        "download": gettext_lazy("Download"),
        "reuse": gettext_lazy("Reuse prompt"),
        "edit": gettext_lazy("Edit prompt"),
        "delete": gettext_lazy("Delete picture"),
    },
    headlines={JobState.FAILED: gettext_lazy("There is no picture")},
    reasons={
        Reason.INPUT: ReasonText(
            gettext_lazy("The provider did not accept this request."), action="edit"
        ),
        Reason.CONTENT: ReasonText(
            gettext_lazy("The provider refused this prompt because of its content rules."),
            action="edit",
        ),
        Reason.NO_OUTPUT: ReasonText(
            gettext_lazy("The provider finished without a picture."), action="edit"
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
    },
    events={
        EventName.MADE: gettext_lazy("The picture was made."),
        EventName.MADE_LATE: gettext_lazy("We found out later that the picture was made."),
        EventName.NO_OUTPUT: gettext_lazy(
            "The provider finished, but lists no picture yet. We check again."
        ),
        EventName.DELIVERED: gettext_lazy("Staff delivered the picture."),
        EventName.READY: gettext_lazy("The picture is ready."),
        EventName.ANOTHER: gettext_lazy("Another picture for this request arrived."),
        EventName.FAILED_LATE: gettext_lazy("We found out later that no picture was made."),
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
        EventName.GIVEN_BACK: gettext_lazy(
            "Staff gave the slot back. We keep checking for the picture."
        ),
    },
    questions={
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
    },
    messages={
        MessageName.DELETED: Message(gettext_lazy("The picture was deleted."), "ready"),
        MessageName.NOTHING_TO_DELETE: Message(
            gettext_lazy("There is no picture to delete."), "failed"
        ),
        MessageName.EARLIER_MAY_COME: Message(
            gettext_lazy(
                "Your earlier try may still produce a picture, so we did not start another."
            ),
            "doubt",
        ),
        MessageName.EARLIER_CAME: Message(
            gettext_lazy("Your earlier try produced its picture after all."), "ready"
        ),
    },
)
