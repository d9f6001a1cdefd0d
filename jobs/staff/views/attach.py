"""The page on which staff attach the provider's id to a lost call: the provider is asked about it
first, and its answer shown; the same form sent again attaches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.database.connections import give_back_connections
from jobs.staff import action_guards, action_previews, decisions, reference_lookup
from jobs.staff.action_previews import Table
from jobs.staff.reference_lookup import ReferenceLookup
from jobs.staff.views.staff import ATTACH, Desk, ReasonForm, back_to, decide, lay_before, only_with
from providers.calls.models import Call


class AttachForm(ReasonForm):
    reference = forms.CharField(
        label=gettext_lazy("The provider's id"),
        max_length=200,
        help_text=gettext_lazy(
            "As the provider's own history shows it. Compare model and time with the call: what"
            " lies under a wrong id is given to the wrong person, and an id cannot be changed."
        ),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    field_order = ("reference", "reason")


@dataclass(frozen=True)
class Seen:
    """What the provider says, laid before staff before they decide."""

    table: Table
    warnings: Sequence[str]


@only_with("providers.view_call", ATTACH)
def attach(request: HttpRequest, pk: int) -> HttpResponse:
    call = get_object_or_404(Call, pk=pk)
    desk = _desk_of(call)
    form = AttachForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return lay_before(request, desk, form, refused=desk.refused, status=200)
    reference = form.cleaned_data["reference"]
    refused = desk.refused or action_guards.why_not_taken(call, reference)
    if refused:
        return lay_before(request, desk, form, refused=refused, status=409)
    give_back_connections()
    sighting = reference_lookup.look(call, reference, timezone.now())
    if refused := reference_lookup.why_not(call, sighting):
        return lay_before(request, desk, form, refused=refused, status=409)
    desk = replace(desk, yes=_("Attach the id"), will=action_previews.of_attach(call))
    if form.cleaned_data["seen"] != reference:
        return _show(request, desk, call, sighting)

    def do(decision: decisions.Decision, said: dict[str, str]) -> str:
        reference_lookup.attach(call, sighting, decision)
        told = _("The id was attached. The provider says: %(answer)s.")
        return told % {"answer": reference_lookup.words_of(sighting)}

    return decide(request, desk, do)


def _desk_of(call: Call) -> Desk:
    return Desk(
        title=_("Attach the provider's id"),
        yes=_("Ask the provider"),
        known=action_previews.table_of([call], timezone.now()),
        will=action_previews.of_ask(call),
        refused=action_guards.why_not_attached(call, decisions.job_of(call)),
        back=back_to(call),
        form=AttachForm,
    )


def _show(request: HttpRequest, desk: Desk, call: Call, sighting: ReferenceLookup) -> HttpResponse:
    form = AttachForm(request.POST.dict() | {"seen": sighting.reference})
    seen = Seen(reference_lookup.table_of(sighting), reference_lookup.warnings_of(call, sighting))
    return lay_before(request, desk, form, refused="", status=200, seen=seen)
