"""The pages on which staff pause a provider, and let requests in again, from the dashboard and from
the list of gates."""

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.staff import action_guards, action_previews, decisions
from jobs.staff.views.dashboard import VIEW
from jobs.staff.views.staff import Back, Desk, decide, only_with
from providers.adapters.registry import known_names
from providers.calls.models import Gate

CHANGE = "providers.change_gate"


@only_with(VIEW, CHANGE)
def pause(request: HttpRequest, provider: str) -> HttpResponse:
    gates = _gates_of(provider)
    desk = Desk(
        title=_("Pause %(provider)s") % {"provider": provider},
        yes=_("Pause it"),
        known=action_previews.table_of_gates(provider, gates, timezone.now()),
        will=action_previews.of_pause(),
        refused=action_guards.why_not_paused(gates),
        back=_dashboard(),
    )

    def do(decision: decisions.Decision, said: dict[str, str]) -> str:
        decisions.pause(provider, decision)
        return _("Paused: %(provider)s.") % {"provider": provider}

    return decide(request, desk, do)


@only_with(VIEW, CHANGE)
def let_in(request: HttpRequest, provider: str) -> HttpResponse:
    gates = _gates_of(provider)
    desk = Desk(
        title=_("Let requests in to %(provider)s again") % {"provider": provider},
        yes=_("Let requests in"),
        known=action_previews.table_of_gates(provider, gates, timezone.now()),
        will=action_previews.of_let_in(),
        refused=action_guards.why_not_let_in(gates),
        back=_dashboard(),
    )

    def do(decision: decisions.Decision, said: dict[str, str]) -> str:
        decisions.let_in(provider, decision)
        return _("Takes requests again: %(provider)s.") % {"provider": provider}

    return decide(request, desk, do)


def doors_of_gate(request: HttpRequest, gate: Gate) -> list[tuple[str, str]]:
    if gate.provider not in known_names() or not request.user.has_perms((VIEW, CHANGE)):
        return []
    gates, doors = decisions.gates_of(gate.provider), []
    if not action_guards.why_not_paused(gates):
        doors.append((_("Pause"), reverse("admin:pause_provider", args=[gate.provider])))
    if not action_guards.why_not_let_in(gates):
        address = reverse("admin:resume_provider", args=[gate.provider])
        doors.append((_("Let requests in again"), address))
    return doors


def _gates_of(provider: str) -> list[Gate]:
    if provider not in known_names():
        raise Http404
    return decisions.gates_of(provider)


def _dashboard() -> Back:
    return Back(_("Dashboard"), reverse("admin:dashboard"))
