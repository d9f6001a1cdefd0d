"""The texts that page and command show before a person is deleted."""

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.people.deletion import Belongings


def what_can_go(had: Belongings) -> list[str]:
    return [
        ngettext("%(count)s prompt", "%(count)s prompts", had.jobs) % {"count": had.jobs},
        ngettext("%(count)s picture (%(size)s)", "%(count)s pictures (%(size)s)", had.pictures)
        % {"count": had.pictures, "size": filesizeformat(had.size)},
        _("their name and email address, and what staff wrote about them (staff actions: %(n)s)")
        % {"n": had.staff_actions},
    ]


def what_stays(had: Belongings) -> list[str]:
    return [
        ngettext("%(count)s slot that was used or tried", "%(count)s slots that were used or tried",
                 had.attempts) % {"count": had.attempts},
        _("the calls to providers with their costs and times"),
        _("copies that a provider or a backup holds"),
    ]  # fmt: skip


def what_happens(had: Belongings) -> list[str]:
    said = []
    if had.queued:
        said.append(
            ngettext(
                "%(count)s job is in the queue. It is cancelled, and its slot is given back.",
                (
                    "%(count)s jobs are in the queue. They are cancelled, and their slots are "
                    "given back."
                ),
                had.queued,
            )
            % {"count": had.queued}
        )
    if had.sent:
        said.append(
            ngettext(
                "%(count)s job was sent and may cost money. We keep checking it until it ends.",
                (
                    "%(count)s jobs were sent and may cost money. We keep checking them until they "
                    "end."
                ),
                had.sent,
            )
            % {"count": had.sent}
        )
    return said


def if_kept() -> str:
    return _(
        "If you do not remove them, prompts and pictures stay without an owner. Only "
        "staff can see the prompts, and no one can see the pictures. The pictures are "
        "removed when visitors' pictures are (VISITOR_PICTURES_KEPT)."
    )
