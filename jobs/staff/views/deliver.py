"""The page on which staff see what was paid for and could not be read, and deliver it."""

from collections.abc import Sequence
from dataclasses import dataclass

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.core.models import UnreadResult
from jobs.pictures import storing, unread
from jobs.pictures.saving import picture_of
from jobs.staff import action_guards, action_previews, decisions
from jobs.staff.views.staff import DELIVER, Desk, ReasonForm, back_to, decide, only_with
from providers.calls.models import Call
from providers.wire.picture_files import Fetched, read_picture

MOST_SHOWN = 20_000
LONGEST_LINE = 1000


class DeliverForm(ReasonForm):
    picture = forms.FileField(
        label=gettext_lazy("Another file in its place"),
        required=False,
        help_text=gettext_lazy(
            "The same picture in a format that browsers show. Leave it empty to deliver what is"
            " kept."
        ),
    )
    field_order = ("picture", "reason")


@dataclass(frozen=True)
class Kept:
    """What is shown of it: answers as text, files as something to download."""

    rows: Sequence[tuple[UnreadResult, str]]
    answer: str


@only_with("providers.view_call", DELIVER)
def deliver(request: HttpRequest, pk: int) -> HttpResponse:
    call = get_object_or_404(Call, pk=pk)
    job = decisions.job_of(call)
    rows = list(unread.kept_of(call))
    desk = Desk(
        title=_("Deliver"),
        yes=_("Deliver"),
        known=action_previews.table_of([call], timezone.now()),
        will=action_previews.of_deliver(job),
        refused=action_guards.why_not_delivered(job, rows),
        back=back_to(call),
        form=DeliverForm,
        kept=_shown(call, rows),
    )

    def do(decision: decisions.Decision, said: dict) -> str:
        assert job, "a call of no job is refused before"
        picture, source = _chosen(said.get("picture"), rows)
        row = picture_of(job.pk, call, picture)
        try:
            storing.store(row.file, picture.content)
        except storing.NoRoom as exc:
            raise decisions.Refused(_("It cannot be stored: %(why)s.") % {"why": exc}) from exc
        decisions.deliver(call.pk, row, decision, source=source, sha256=row.sha256)
        return _("The picture was delivered.")

    return decide(request, desk, do)


@only_with("providers.view_call", DELIVER)
def kept_file(request: HttpRequest, pk: int, kept: int) -> HttpResponse:
    """Its bytes, to be stored and never shown: they may be anything at all."""
    row = get_object_or_404(UnreadResult, pk=kept, call=pk)
    content = unread.content_of(row)
    if content is None:
        raise Http404
    response = HttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="call-{pk}-{kept}.bin"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, no-store"
    return response


def _chosen(upload: UploadedFile | None, rows: Sequence[UnreadResult]) -> tuple[Fetched, str]:
    """Raises Refused where there is nothing that browsers show."""
    if upload:
        sent = read_picture(upload.read(), is_all_there_is=True)
        if not isinstance(sent, Fetched):
            raise decisions.Refused(_("This file is no picture that can be shown."))
        return sent, "upload"
    for row in reversed(rows):
        content = unread.content_of(row) if row.kind == "file" else None
        found = read_picture(content, is_all_there_is=True) if content else None
        if isinstance(found, Fetched):
            return found, f"kept {row.pk}"
    raise decisions.Refused(
        _("What is kept cannot be read as a picture. Choose a file in its place.")
    )


def _shown(call: Call, rows: Sequence[UnreadResult]) -> Kept:
    links = [(row, reverse("admin:kept_file", args=[call.pk, row.pk])) for row in rows]
    answers = [row for row in rows if row.kind == "answer"]
    content = unread.content_of(answers[-1]) if answers else None
    lines = (content or b"").decode("utf-8", "replace")[: MOST_SHOWN * 5].split("\n")
    text = "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines
    )
    return Kept(links, text[:MOST_SHOWN])
