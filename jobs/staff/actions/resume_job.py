"""Resume jobs with a stage that was set aside because it killed its worker too often."""

import uuid
from collections.abc import Mapping, Sequence

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.core import leases, queue, transitions
from jobs.core.events import EventName
from jobs.core.models import ActionName, Job, StaffAction, Stage
from jobs.core.states import JobState
from jobs.staff.actions.base import ActionRefused, Decision, entry_about
from jobs.staff.actions.page import MOST_AT_ONCE, ActionPage, Back, handle, requires
from jobs.staff.actions.tables import Table, moment

PERMISSION = "jobs.resume_job"


def why_not(stage: Stage | None) -> str:
    """`stage` is the one of the job that was set aside, if any."""
    return "" if stage else _("No stage of this job is set aside.")


def preview(jobs: Sequence[Job], aside: Mapping[uuid.UUID, Stage]) -> list[str]:
    lines = [
        _("Its stage goes back in the queue now and runs on the next free worker."),
        _("Nothing is sent twice, because the stage checks its records first."),
        _("If its worker dies again, the stage is set aside again, for longer."),
    ]
    if left := len(jobs) - len(aside):
        lines.append(_("Jobs that are not changed: %(count)s.") % {"count": left})
    return lines


@transaction.atomic
def run(job_ids: Sequence[uuid.UUID], decision: Decision) -> int:
    """Returns how many jobs go on. Those without a stage that was set aside are not changed; raises
    ActionRefused where that leaves none. The starts they had stay counted."""
    jobs = Job.objects.filter(pk__in=job_ids).select_for_update().order_by("pk")
    resumed = []
    for job in jobs:
        stages = leases.resume(job.pk, decision.now)
        if not stages:
            continue
        resumed.append(job)
        transitions.record_event(job.pk, event=EventName.RESUMED, now=decision.now)
        for stage_id in stages:
            queue.enqueue_after_commit(stage_id)
    if not resumed:
        raise ActionRefused(why_not(None) if job_ids else _("No job was chosen."))
    StaffAction.objects.bulk_create(
        entry_about(
            f"job {job.pk}", ActionName.RESUME, decision, job=job, account_id=job.account_id
        )
        for job in resumed
    )
    return len(resumed)


@requires("jobs.view_job", PERMISSION)
def page(request: HttpRequest) -> HttpResponse:
    """One job or several, by their ids in the address."""
    chosen = sorted({found for text in request.GET.getlist("job") if (found := _read_id(text))})
    jobs = list(Job.objects.filter(pk__in=chosen[:MOST_AT_ONCE]).order_by("pk"))
    stages = leases.set_aside(timezone.now()).filter(job__in=jobs).order_by("pk")
    aside = {stage.job_id: stage for stage in stages}
    refusals = [why_not(aside.get(job.pk)) for job in jobs]
    action = ActionPage(
        title=_("Resume"),
        yes=_("Resume"),
        known=_table(jobs, aside).with_remarks(refusals),
        will=preview(jobs, aside),
        refused="" if aside else next(iter(refusals), _("No job was chosen.")),
        back=_back_to(jobs),
    )

    def resume(decision: Decision, data: dict[str, str]) -> str:
        count = run([job.pk for job in jobs], decision)
        text = ngettext("Resumed %(count)s job.", "Resumed %(count)s jobs.", count)
        return text % {"count": count}

    return handle(request, action, resume)


def _table(jobs: Sequence[Job], aside: Mapping[uuid.UUID, Stage]) -> Table:
    heads = [
        _("Job"),
        _("State"),
        _("Ordered"),
        _("Stage"),
        _("Worker deaths"),
        _("Next try"),
    ]
    return Table(heads, [_row(job, aside.get(job.pk)) for job in jobs])


def _row(job: Job, stage: Stage | None) -> list[str]:
    row = [str(job.pk), str(JobState(job.state).label), moment(job.created_at)]
    return [*row, *([stage.name, str(stage.tries), moment(stage.due_at)] if stage else ["–"] * 3)]


def _read_id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _back_to(jobs: Sequence[Job]) -> Back:
    if len(jobs) == 1:
        address = reverse("admin:jobs_job_change", args=[jobs[0].pk])
        return Back(_("Job %(id)s") % {"id": str(jobs[0].pk)[:8]}, address)
    return Back(_("Jobs"), reverse("admin:jobs_job_changelist"))
