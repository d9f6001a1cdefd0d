"""The page of one job, and what its owner may do: cancel, stop waiting, delete."""

import uuid
from datetime import datetime

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs import outcomes
from jobs.core.models import Job
from jobs.core.states import OPEN, JobState
from jobs.kinds import kind_of
from jobs.panels import build_panel
from jobs.people.own_rows import own_job
from jobs.people.requests import SiteRequest
from jobs.web.views.pages import polled_status, see_other, show, tell
from jobs.words.wording import MESSAGES, MessageName


@require_safe
def job_page(request: SiteRequest, job_id: uuid.UUID) -> HttpResponse:
    job = own_job(request, job_id)
    context = {
        **build_panel(job),
        "has_news": request.GET.get("seen") != str(job.version),
    }
    status = polled_status(request, goes_on=job.state in OPEN)
    return show(request, "job.html", part="_job_live.html", context=context, status=status)


@require_POST
def cancel_job(request: SiteRequest, job_id: uuid.UUID) -> HttpResponse:
    job = own_job(request, job_id)
    if not outcomes.cancel(job.pk, timezone.now()):
        tell(request, MESSAGES[_why_not_cancelled(job)])
    return _to_job(job)


@require_http_methods(["GET", "HEAD", "POST"])
def stop_waiting(request: SiteRequest, job_id: uuid.UUID) -> HttpResponse:
    """A request that went back to the queue meanwhile is cancelled: that frees the slot."""
    job = own_job(request, job_id)
    if request.method == "POST":
        if not _stop(job.pk, timezone.now()):
            tell(request, MESSAGES[MessageName.HAD_ENDED])
        return _to_job(job)
    return _confirm(request, job, "stop_waiting")


@require_http_methods(["GET", "HEAD", "POST"])
def delete_result(request: SiteRequest, job_id: uuid.UUID) -> HttpResponse:
    job = own_job(request, job_id)
    kind = kind_of(job)
    if request.method == "POST":
        if not kind.delete_result(job.pk, timezone.now()):
            tell(request, kind.words.message(MessageName.NOTHING_TO_DELETE))
            return _to_job(job)
        tell(request, kind.words.message(MessageName.DELETED))
        return see_other("gallery")
    return _confirm(request, job, "delete")


def _stop(job_id: uuid.UUID, now: datetime) -> bool:
    """Between two looks a request may leave the queue again."""
    wishes_in_turn = (outcomes.stop_waiting, outcomes.cancel, outcomes.stop_waiting)
    return any(wish(job_id, now) for wish in wishes_in_turn)


def _confirm(request: SiteRequest, job: Job, action: str) -> HttpResponse:
    """Ask first. Without a script this is a page; with one its form is shown as a dialog."""
    words = kind_of(job).words
    if action not in words.actions_for(job):
        return _to_job(job)
    context = {"job": job, "question": words.question(action)}
    return show(request, "confirm.html", part="confirm.html", context=context)


def _to_job(job: Job) -> HttpResponse:
    return see_other("job", job.pk)


def _why_not_cancelled(job: Job) -> MessageName:
    job.refresh_from_db(fields=["state"])
    if job.state == JobState.CANCELLED:
        return MessageName.HAD_BEEN_CANCELLED
    return MessageName.SENT_BEFORE_CANCEL if job.state in OPEN else MessageName.ENDED_BEFORE_CANCEL
