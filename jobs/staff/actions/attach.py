"""Attach a provider id to a call that has none. The provider is asked about the id first and
its answer is shown; the same form sent again attaches it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.core import transitions
from jobs.core.events import EventName
from jobs.core.models import ActionName, Job
from jobs.database.connections import give_back_connections
from jobs.engine import incoming
from jobs.engine.webhook_references import ConfirmedRun
from jobs.processes import ticker
from jobs.staff.actions import guards, reference_lookup
from jobs.staff.actions.base import (
    ActionRefused,
    Decision,
    entry_about_call,
    find_job,
    lock_call,
    overtaken,
    refuse_if,
)
from jobs.staff.actions.page import (
    ActionPage,
    ReasonForm,
    back_to_call,
    handle,
    render_confirmation,
    requires,
)
from jobs.staff.actions.reference_lookup import ReferenceLookup
from jobs.staff.actions.tables import Table, end_stays, table_of_calls
from providers.adapters.registry import result_retention
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.outcomes import Accepted, can_be_asked_for

PERMISSION = "jobs.attach_reference"


class AttachForm(ReasonForm):
    reference = forms.CharField(
        label=gettext_lazy("The provider's id"),
        max_length=200,
        help_text=gettext_lazy(
            "Copy it from the provider's own history. Check that model and time match the call."
            " With a wrong id this user gets another run's picture, and you cannot change the id"
            " later."
        ),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    field_order = ("reference", "reason")


@dataclass(frozen=True)
class Seen:
    """The provider's answer, shown before staff decide."""

    table: Table
    warnings: Sequence[str]


def why_not(call: Call, job: Job | None) -> str:
    if call.reference:
        return _("This call has a provider id: %(id)s.") % {"id": call.reference}
    if call.state == CallState.SENDING:
        return _("This call is being sent. If its answer is lost, you can attach the id then.")
    if call.late_outcome or call.state in (CallState.SUCCEEDED, CallState.FAILED):
        return guards.how_it_ended(call)
    return "" if job else guards.no_job()


def why_not_this_id(call: Call, reference: str) -> str:
    if not can_be_asked_for(reference):
        return _("This is not a valid provider id.")
    same = Call.objects.filter(provider=call.provider, reference=reference)
    other = same.exclude(pk=call.pk).first()
    if other is None:
        return ""
    return _("This id belongs to another call: number %(number)s, for %(work)s.") % {
        "number": other.pk,
        "work": other.work,
    }


def preview_lookup(call: Call) -> list[str]:
    return [
        _("We ask the provider about this id first. If it does not confirm the id, nothing is"
          " attached."),
        _("You see its answer, and then decide whether to attach the id."),
        *preview(call),
    ]  # fmt: skip


def preview(call: Call) -> list[str]:
    lines = [
        _("Once the id is attached, we ask about its run for up to %(days)s days.")
        % {"days": result_retention(call.provider).days},
        _("The user who asked for this picture gets the picture of that run."),
    ]
    if call.ended_at:
        lines.append(end_stays())
    return [*lines, _("You cannot change the id later.")]


@transaction.atomic
def run(call_id: int, reference: str, decision: Decision, **seen: str) -> None:
    """An unknown call becomes accepted and is polled; for a call that had ended, the outcome comes
    late. `seen` is the provider's answer (`reference_lookup`), kept with the entry."""
    call, job = lock_call(call_id)
    refuse_if(why_not(call, job) or why_not_this_id(call, reference))
    if job:
        transitions.record_event(job.pk, event=EventName.ATTACHED, now=decision.now)
    recorded = incoming.apply(call, Accepted(reference), decision.now)
    if recorded.call.reference != reference:
        # Another call was given the same id since the guard read the rows.
        raise ActionRefused(why_not_this_id(call, reference) or overtaken())
    facts = {"reference": reference, **seen}
    entry_about_call(ActionName.ATTACH, decision, call, job, facts).save()


def run_confirmed(call: Call, found: ReferenceLookup, decision: Decision) -> None:
    """Attach the id, then follow what the provider answered about its run."""
    refused = reference_lookup.why_not(call, found)
    if refused or not isinstance(found.answer, ConfirmedRun):
        raise ActionRefused(refused)
    run(call.pk, found.reference, decision, provider_said=reference_lookup.words_of(found))
    attached = Call.objects.get(pk=call.pk)
    ticker.follow_poll(attached, found.answer.answer, decision.now)


@requires("providers.view_call", PERMISSION)
def page(request: HttpRequest, pk: int) -> HttpResponse:
    call = get_object_or_404(Call, pk=pk)
    action = _page_of(call)
    form = AttachForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return render_confirmation(request, action, form, refused=action.refused, status=200)
    reference = form.cleaned_data["reference"]
    refused = action.refused or why_not_this_id(call, reference)
    if refused:
        return render_confirmation(request, action, form, refused=refused, status=409)
    give_back_connections()
    found = reference_lookup.look(call, reference, timezone.now())
    if refused := reference_lookup.why_not(call, found):
        return render_confirmation(request, action, form, refused=refused, status=409)
    action = replace(action, yes=_("Attach the id"), will=preview(call))
    if form.cleaned_data["seen"] != reference:
        return _show_answer(request, action, call, found)

    def attach(decision: Decision, data: dict[str, str]) -> str:
        run_confirmed(call, found, decision)
        text = _("The id was attached. The provider says: %(answer)s.")
        return text % {"answer": reference_lookup.words_of(found)}

    return handle(request, action, attach)


def _page_of(call: Call) -> ActionPage:
    return ActionPage(
        title=_("Attach a provider id"),
        yes=_("Ask the provider"),
        known=table_of_calls([call], timezone.now()),
        will=preview_lookup(call),
        refused=why_not(call, find_job(call)),
        back=back_to_call(call),
        form=AttachForm,
    )


def _show_answer(
    request: HttpRequest, action: ActionPage, call: Call, found: ReferenceLookup
) -> HttpResponse:
    form = AttachForm(request.POST.dict() | {"seen": found.reference})
    seen = Seen(reference_lookup.build_table(found), reference_lookup.list_warnings(call, found))
    return render_confirmation(request, action, form, refused="", status=200, seen=seen)
