"""The pages on which staff take a decision: what is known, what will happen, and the reason.

Each is shown first and done by its POST, without a script; what the state forbids is said in the
place of the form. They are entered by the admin, which checks who comes (`jobs.staff.admin`).
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.core import leases
from jobs.core.models import Job
from jobs.pictures import unread
from jobs.staff import action_guards, action_previews, decisions
from jobs.staff.action_previews import Table
from providers.calls.models import Call
from quotas.models import Grant

MOST_AT_ONCE = 50

CHECK = "jobs.check_call"
GIVE_BACK = "jobs.give_slot_back"
ATTACH = "jobs.attach_reference"
DELIVER = "jobs.deliver_result"
REVOKE = "quotas.delete_grant"
RESUME = "jobs.resume_job"


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy(
            "Kept with your name and the time, for other staff to read. No prompt, please."
        ),
    )


@dataclass(frozen=True)
class Back:
    """The page that a decision is entered from, and left to."""

    words: str
    address: str


@dataclass(frozen=True)
class Desk:
    """A decision that is laid before staff."""

    title: str
    yes: str
    known: Table
    will: Sequence[str]
    refused: str
    back: Back
    form: type[ReasonForm] = ReasonForm
    kept: object = None
    """What could not be read, to be shown and downloaded."""


def only_with(*permissions: str):
    def guard(view: Callable[..., HttpResponse]):
        @wraps(view)
        def guarded(request: HttpRequest, **address: Any) -> HttpResponse:
            if not request.user.has_perms(permissions):
                raise PermissionDenied
            return view(request, **address)

        return guarded

    return guard


@only_with("providers.view_call", CHECK)
def check_now(request: HttpRequest) -> HttpResponse:
    """One call or several, by their numbers in the address."""
    now = timezone.now()
    said = request.GET.getlist("call")
    chosen = {int(number) for number in said if number.isdecimal() and len(number) < 19}
    calls = list(Call.objects.filter(pk__in=sorted(chosen)[:MOST_AT_ONCE]).order_by("pk"))
    why_not = decisions.refusals_to_check(calls, now)
    able = [call for call in calls if not why_not[call.pk]]
    desk = Desk(
        title=_("Check now"),
        yes=_("Check now"),
        known=action_previews.table_of(calls, now, why_not),
        will=action_previews.of_check(calls, able),
        refused="" if able else next(iter(why_not.values()), _("No call was chosen.")),
        back=_back_to_calls(calls),
    )

    def do(decision: decisions.Decision, said: dict[str, str]) -> str:
        asked = decisions.check_now([call.pk for call in calls], decision)
        told = ngettext("%(count)s call is asked about.", "%(count)s calls are asked about.", asked)
        return told % {"count": asked}

    return decide(request, desk, do)


@only_with("providers.view_call", GIVE_BACK)
def give_back(request: HttpRequest, pk: int) -> HttpResponse:
    now = timezone.now()
    call = get_object_or_404(Call, pk=pk)
    job = decisions.job_of(call)
    desk = Desk(
        title=_("Give the slot back"),
        yes=_("Give the slot back"),
        known=action_previews.table_of([call], now),
        will=action_previews.of_give_back(call, job, now),
        refused=action_guards.why_not_given_back(call, job, now),
        back=back_to(call),
    )

    def do(decision: decisions.Decision, said: dict[str, str]) -> str:
        decisions.give_back(pk, decision)
        return _("The slot was given back.")

    return decide(request, desk, do)


@only_with("quotas.view_grant", REVOKE)
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    grant = get_object_or_404(Grant.objects.select_related("account"), pk=pk)
    desk = Desk(
        title=_("Take the grant back"),
        yes=_("Take it back"),
        known=action_previews.table_of_grant(grant),
        will=action_previews.of_revoke(grant),
        refused="",
        back=Back(_("Grants"), reverse("admin:quotas_grant_changelist")),
    )

    def do(decision: decisions.Decision, said: dict[str, str]) -> str:
        decisions.revoke(pk, decision)
        return _("The grant was taken back.")

    return decide(request, desk, do)


@only_with("jobs.view_job", RESUME)
def resume(request: HttpRequest) -> HttpResponse:
    """One job or several, by their ids in the address."""
    chosen = sorted({found for said in request.GET.getlist("job") if (found := _id_in(said))})
    jobs = list(Job.objects.filter(pk__in=chosen[:MOST_AT_ONCE]).order_by("pk"))
    stages = leases.set_aside(timezone.now()).filter(job__in=jobs).order_by("pk")
    aside = {stage.job_id: stage for stage in stages}
    why_not = {job.pk: action_guards.why_not_resumed(aside.get(job.pk)) for job in jobs}
    desk = Desk(
        title=_("Resume"),
        yes=_("Resume"),
        known=action_previews.table_of_jobs(jobs, aside, why_not),
        will=action_previews.of_resume(jobs, aside),
        refused="" if aside else next(iter(why_not.values()), _("No job was chosen.")),
        back=_back_to_jobs(jobs),
    )

    def do(decision: decisions.Decision, said: dict[str, str]) -> str:
        resumed = decisions.resume([job.pk for job in jobs], decision)
        told = ngettext("%(count)s job goes on.", "%(count)s jobs go on.", resumed)
        return told % {"count": resumed}

    return decide(request, desk, do)


def doors_of_job(request: HttpRequest, job: Job) -> list[tuple[str, str]]:
    aside = leases.set_aside(timezone.now()).filter(job=job).first()
    if not request.user.has_perm(RESUME) or action_guards.why_not_resumed(aside):
        return []
    return [(_("Resume"), f"{reverse('admin:resume')}?job={job.pk}")]


def doors_of_grant(request: HttpRequest, grant: Grant) -> list[tuple[str, str]]:
    if not request.user.has_perm(REVOKE):
        return []
    return [(_("Take the grant back"), reverse("admin:revoke", args=[grant.pk]))]


def doors_of(request: HttpRequest, call: Call) -> list[tuple[str, str]]:
    """The decisions that this person may take about the call as it stands: words and address."""
    may, now = request.user.has_perm, timezone.now()
    doors = []
    if may(CHECK) and not decisions.refusals_to_check([call], now)[call.pk]:
        doors.append((_("Check now"), f"{reverse('admin:check_now')}?call={call.pk}"))
    job = decisions.job_of(call)
    if may(GIVE_BACK) and not action_guards.why_not_given_back(call, job, now):
        doors.append((_("Give the slot back"), reverse("admin:give_back", args=[call.pk])))
    if may(ATTACH) and not action_guards.why_not_attached(call, job):
        doors.append((_("Attach the provider's id"), reverse("admin:attach", args=[call.pk])))
    if (
        may(DELIVER)
        and call.was_made
        and not action_guards.why_not_delivered(job, list(unread.kept_of(call)))
    ):
        doors.append((_("Deliver"), reverse("admin:deliver", args=[call.pk])))
    return doors


def decide(
    request: HttpRequest, desk: Desk, do: Callable[[decisions.Decision, dict[str, Any]], str]
) -> HttpResponse:
    form = desk.form(request.POST or None, request.FILES or None)
    refused, status = desk.refused, 200
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            by = cast(User, request.user)
            told = do(decisions.Decision(by, said["reason"], timezone.now()), said)
        except decisions.Refused as refusal:
            refused, status = str(refusal), 409
        else:
            messages.success(request, told)
            return redirect(desk.back.address)
    return lay_before(request, desk, form, refused=refused, status=status)


def lay_before(
    request: HttpRequest,
    desk: Desk,
    form: ReasonForm,
    *,
    refused: str,
    status: int,
    **more: object,
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": desk.title,
        "desk": desk,
        "form": form,
        "refused": refused,
        "is_final": bool(desk.refused),
        **more,
    }
    return TemplateResponse(request, "admin/decide.html", context, status=status)


def _id_in(said: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(said)
    except ValueError:
        return None


def _back_to_jobs(jobs: Sequence[Job]) -> Back:
    if len(jobs) == 1:
        page = reverse("admin:jobs_job_change", args=[jobs[0].pk])
        return Back(_("Job %(id)s") % {"id": str(jobs[0].pk)[:8]}, page)
    return Back(_("Jobs"), reverse("admin:jobs_job_changelist"))


def _back_to_calls(calls: Sequence[Call]) -> Back:
    if len(calls) == 1:
        return back_to(calls[0])
    return Back(_("Calls"), reverse("admin:providers_call_changelist"))


def back_to(call: Call) -> Back:
    page = reverse("admin:providers_call_change", args=[call.pk])
    return Back(_("Call %(number)s") % {"number": call.pk}, page)
