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
        _("their name and e-mail address, and the words of staff about them (staff actions: %(n)s)")
        % {"n": had.staff_actions},
    ]


def what_stays(had: Belongings) -> list[str]:
    return [
        ngettext("%(count)s slot that was used or tried", "%(count)s slots that were used or tried",
                 had.attempts) % {"count": had.attempts},
        _("the calls to providers with what they cost, and when what happened"),
        _("what a provider or a backup has kept"),
    ]  # fmt: skip


def what_happens(had: Belongings) -> list[str]:
    said = []
    if had.queued:
        said.append(
            ngettext(
                "%(count)s job is in the queue: it is cancelled, and its slot is given back.",
                "%(count)s jobs are in the queue: they are cancelled, and their slots given back.",
                had.queued,
            )
            % {"count": had.queued}
        )
    if had.sent:
        said.append(
            ngettext(
                "%(count)s job was sent and may cost money: it is followed to its end.",
                "%(count)s jobs were sent and may cost money: they are followed to their end.",
                had.sent,
            )
            % {"count": had.sent}
        )
    return said


def if_kept() -> str:
    return _(
        "If you do not remove them, prompts and pictures stay without an owner: only staff see the "
        "prompts, and no one sees the pictures. They go as those of visitors do "
        "(VISITOR_PICTURES_KEPT)."
    )
