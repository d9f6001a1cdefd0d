"""Deliver a paid result that could not be read, or a picture in its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.core import transitions
from jobs.core.events import EventName
from jobs.core.models import ActionName, Job, Picture, UnreadResult
from jobs.core.states import JobState
from jobs.files import storing
from jobs.pictures import follow, unread
from jobs.pictures.saving import build_picture_row
from jobs.staff.actions import guards
from jobs.staff.actions.base import (
    ActionRefused,
    Decision,
    entry_about_call,
    find_job,
    lock_call,
    overtaken,
    refuse_if,
)
from jobs.staff.actions.page import ActionPage, ReasonForm, back_to_call, handle, requires
from jobs.staff.actions.tables import table_of_calls
from providers.calls.models import Call
from providers.wire.picture_files import Fetched, read_picture
from quotas.states import AttemptState

PERMISSION = "jobs.deliver_result"
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
    """The last answer as text, and links to download everything."""

    rows: Sequence[tuple[UnreadResult, str]]
    answer: str


def why_not(job: Job | None, kept: Sequence[UnreadResult]) -> str:
    """`kept` are the results of the call that could not be read."""
    if job is None:
        return guards.no_job()
    if job.result_deleted_at:
        return _("The user has deleted the result.")
    is_open = any(result.resolved_at is None for result in kept)
    if not kept or (job.state == JobState.READY and not is_open):
        return _("We have kept no unreadable result of this call.")
    return ""


def preview(job: Job | None) -> list[str]:
    lines = [
        _("The user who asked for the picture gets it."),
        _("If you choose no file, we deliver the newest kept one, if we can read it now."),
    ]
    if job and job.attempt and job.attempt.state == AttemptState.PENDING:
        lines.append(_("The slot counts as used."))
    return [*lines, _("You cannot undo this.")]


@transaction.atomic
def run(call_id: int, picture: Picture, decision: Decision, **facts: Any) -> None:
    """The file of `picture` is stored already. Where this is refused, no row names it and
    housekeeping removes it."""
    call, job = lock_call(call_id)
    refuse_if(why_not(job, list(unread.find_kept(call))))
    if job is None or not follow.deliver_kept(call, picture, decision.now):
        raise ActionRefused(overtaken())
    transitions.record_event(job.pk, event=EventName.DELIVERED, now=decision.now)
    entry_about_call(ActionName.DELIVER, decision, call, job, facts).save()


@requires("providers.view_call", PERMISSION)
def page(request: HttpRequest, pk: int) -> HttpResponse:
    call = get_object_or_404(Call, pk=pk)
    job = find_job(call)
    rows = list(unread.find_kept(call))
    action = ActionPage(
        title=_("Deliver"),
        yes=_("Deliver"),
        known=table_of_calls([call], timezone.now()),
        will=preview(job),
        refused=why_not(job, rows),
        back=back_to_call(call),
        form=DeliverForm,
        kept=_shown(call, rows),
    )

    def deliver(decision: Decision, data: dict[str, Any]) -> str:
        picture, source = _choose(data.get("picture"), rows)
        assert job, "the guard refuses a call of no job"
        row = build_picture_row(job.pk, call, picture)
        try:
            storing.store(row.file, picture.content)
        except storing.NoRoom as exc:
            raise ActionRefused(_("We cannot save it: %(why)s.") % {"why": exc}) from exc
        run(call.pk, row, decision, source=source, sha256=row.sha256)
        return _("The picture was delivered.")

    return handle(request, action, deliver)


@requires("providers.view_call", PERMISSION)
def kept_file(request: HttpRequest, pk: int, kept: int) -> HttpResponse:
    """The bytes as a download. They may be anything, so no browser may show them."""
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


def _choose(upload: UploadedFile | None, rows: Sequence[UnreadResult]) -> tuple[Fetched, str]:
    """The upload or the newest kept file. Raises ActionRefused where no browser shows it."""
    if upload:
        sent = read_picture(upload.read(), is_all_there_is=True)
        if not isinstance(sent, Fetched):
            raise ActionRefused(_("Browsers cannot show this file as a picture."))
        return sent, "upload"
    for row in reversed(rows):
        content = unread.content_of(row) if row.kind == "file" else None
        found = read_picture(content, is_all_there_is=True) if content else None
        if isinstance(found, Fetched):
            return found, f"kept {row.pk}"
    raise ActionRefused(_("We cannot read any kept file as a picture. Choose another file."))


def _shown(call: Call, rows: Sequence[UnreadResult]) -> Kept:
    links = [(row, reverse("admin:kept_file", args=[call.pk, row.pk])) for row in rows]
    answers = [row for row in rows if row.kind == "answer"]
    content = unread.content_of(answers[-1]) if answers else None
    lines = (content or b"").decode("utf-8", "replace")[: MOST_SHOWN * 5].split("\n")
    text = "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines
    )
    return Kept(links, text[:MOST_SHOWN])
