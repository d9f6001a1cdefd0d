"""Which actions a reader may take about a row as it is now: label and address of each page."""

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.core import leases
from jobs.core.models import Job
from jobs.pictures import unread
from jobs.staff.actions import attach, check, deliver, give_back, grant, provider_gate, resume_job
from jobs.staff.actions.base import find_job
from providers.adapters.registry import known_names
from providers.calls.models import Call, Gate
from quotas.models import Grant

Actions = list[tuple[str, str]]


def available_actions(request: HttpRequest, row: Call | Job | Grant | Gate) -> Actions:
    match row:
        case Call():
            return _about_call(request, row)
        case Job():
            return _about_job(request, row)
        case Grant():
            return _about_grant(request, row)
        case Gate():
            return _about_gate(request, row)


def _about_call(request: HttpRequest, call: Call) -> Actions:
    may, now = request.user.has_perm, timezone.now()
    found = []
    if may(check.PERMISSION) and not check.why_not_each([call], now)[call.pk]:
        found.append((_("Check now"), f"{reverse('admin:check_now')}?call={call.pk}"))
    job = find_job(call)
    if may(give_back.PERMISSION) and not give_back.why_not(call, job, now):
        found.append((_("Give the slot back"), reverse("admin:give_back", args=[call.pk])))
    if may(attach.PERMISSION) and not attach.why_not(call, job):
        found.append((_("Attach a provider id"), reverse("admin:attach", args=[call.pk])))
    may_deliver = may(deliver.PERMISSION) and call.was_made
    if may_deliver and not deliver.why_not(job, list(unread.find_kept(call))):
        found.append((_("Deliver"), reverse("admin:deliver", args=[call.pk])))
    return found


def _about_job(request: HttpRequest, job: Job) -> Actions:
    aside = leases.set_aside(timezone.now()).filter(job=job).first()
    if not request.user.has_perm(resume_job.PERMISSION) or resume_job.why_not(aside):
        return []
    return [(_("Resume"), f"{reverse('admin:resume')}?job={job.pk}")]


def _about_grant(request: HttpRequest, row: Grant) -> Actions:
    if not request.user.has_perm(grant.REVOKE_PERMISSION):
        return []
    return [(_("Take the grant back"), reverse("admin:revoke", args=[row.pk]))]


def _about_gate(request: HttpRequest, gate: Gate) -> Actions:
    provider = gate.provider
    if provider not in known_names() or not request.user.has_perms(provider_gate.PERMISSIONS):
        return []
    gates, found = provider_gate.read_gates(provider), []
    if not provider_gate.why_not_paused(gates):
        found.append((_("Pause"), reverse("admin:pause_provider", args=[provider])))
    if not provider_gate.why_not_resumed(gates):
        found.append((_("Resume"), reverse("admin:resume_provider", args=[provider])))
    return found
