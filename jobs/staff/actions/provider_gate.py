"""Pause a provider, and resume it, from the dashboard and from the list of gates."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.core.models import ActionName, StaffAction
from jobs.staff.actions.base import ActionRefused, Decision, entry_about, overtaken, refuse_if
from jobs.staff.actions.page import ActionPage, Back, handle, requires
from jobs.staff.actions.tables import Table, moment
from jobs.words.gates import describe_gate
from providers.adapters.registry import known_names
from providers.calls.models import Gate
from providers.routing import gates as provider_gates

PERMISSIONS = ("jobs.view_dashboard", "providers.change_gate")


def read_gates(provider: str) -> list[Gate]:
    """The provider's own gate first, then those of its models. No rows before its first request."""
    return list(Gate.objects.filter(provider=provider).order_by("model"))


def why_not_paused(gates: Sequence[Gate]) -> str:
    is_paused = any(gate.why == provider_gates.STAFF for gate in gates)
    return _("Staff have already paused it.") if is_paused else ""


def why_not_resumed(gates: Sequence[Gate]) -> str:
    is_paused = any(gate.is_paused for gate in gates)
    return "" if is_paused else _("Neither the provider nor any of its models is paused.")


def preview_pause() -> list[str]:
    return [
        _("We send nothing new to this provider until someone resumes it."),
        _("Requests already sent continue."),
        _(
            "Work that no other provider may do waits. If that takes too long, it fails and its"
            " slot is given back."
        ),
    ]


def preview_resume() -> list[str]:
    return [
        _("All pauses of this provider and its models end now."),
        _("If the provider still refuses, the next request pauses it again."),
    ]


@transaction.atomic
def run_pause(provider: str, decision: Decision) -> None:
    refuse_if(why_not_paused(read_gates(provider)))
    if not provider_gates.pause(provider, decision.now):
        raise ActionRefused(overtaken())
    _entry(ActionName.PAUSE, provider, decision).save()


@transaction.atomic
def run_resume(provider: str, decision: Decision) -> None:
    """Ends the pauses of staff and those that its own answers caused."""
    refuse_if(why_not_resumed(read_gates(provider)))
    if not provider_gates.resume(provider):
        raise ActionRefused(overtaken())
    _entry(ActionName.RESUME_PROVIDER, provider, decision).save()


@requires(*PERMISSIONS)
def pause_page(request: HttpRequest, provider: str) -> HttpResponse:
    gates = _known_gates(provider)
    action = ActionPage(
        title=_("Pause %(provider)s") % {"provider": provider},
        yes=_("Pause it"),
        known=_table(provider, gates, timezone.now()),
        will=preview_pause(),
        refused=why_not_paused(gates),
        back=_dashboard(),
    )

    def pause(decision: Decision, data: dict[str, str]) -> str:
        run_pause(provider, decision)
        return _("Paused: %(provider)s.") % {"provider": provider}

    return handle(request, action, pause)


@requires(*PERMISSIONS)
def resume_page(request: HttpRequest, provider: str) -> HttpResponse:
    gates = _known_gates(provider)
    action = ActionPage(
        title=_("Resume %(provider)s") % {"provider": provider},
        yes=_("Resume it"),
        known=_table(provider, gates, timezone.now()),
        will=preview_resume(),
        refused=why_not_resumed(gates),
        back=_dashboard(),
    )

    def resume(decision: Decision, data: dict[str, str]) -> str:
        run_resume(provider, decision)
        return _("Resumed: %(provider)s.") % {"provider": provider}

    return handle(request, action, resume)


def _known_gates(provider: str) -> list[Gate]:
    if provider not in known_names():
        raise Http404
    return read_gates(provider)


def _entry(action: ActionName, provider: str, decision: Decision) -> StaffAction:
    gate, _made = Gate.objects.get_or_create(provider=provider, model=provider_gates.WHOLE)
    return entry_about(f"provider {provider}", action, decision, gate=gate)


def _table(provider: str, gates: Sequence[Gate], now: datetime) -> Table:
    heads = [_("Provider, model"), _("State"), _("Because of"), _("Since")]
    if not gates:
        return Table(heads, [[provider, _("Up"), "–", "–"]])
    states = [(gate, describe_gate(gate, now)) for gate in gates]
    rows = [
        [str(gate), state.word, state.why or "–", moment(state.since)] for gate, state in states
    ]
    return Table(heads, rows)


def _dashboard() -> Back:
    return Back(_("Dashboard"), reverse("admin:dashboard"))
