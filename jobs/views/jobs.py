"""The page of one job, and cancelling it while it waits."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from jobs import heartbeats, outcomes, wording
from jobs.models import Job
from jobs.sentences import Known, sentences_of
from jobs.states import OPEN, JobState
from jobs.steps import steps_of
from jobs.views.pages import polled_status, show
from jobs.views.rows import known_of, own_job


@require_safe
def job_page(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    job = own_job(request, job_id)
    is_open = job.state in OPEN
    context = {
        **_told(known_of(job)),
        "is_open": is_open,
        "has_news": request.GET.get("seen") != str(job.version),
        "stands_still": is_open and not heartbeats.site_moves(timezone.now()),
    }
    status = polled_status(request, goes_on=is_open)
    return show(request, "job.html", part="_job_live.html", context=context, status=status)


def _told(known: Known) -> dict[str, object]:
    job = known.job
    return {
        "job": job,
        "pictures": list(job.pictures.order_by("position")),
        "steps": steps_of(job, known.events, known.now),
        "sentences": sentences_of(known),
        "actions": wording.actions_of(job.state, job.reason),
        "history": [
            (event.at, wording.event_in_words(event.name, event.facts, job.reason))
            for event in known.events
        ],
        "maker": known.call or job.params,
        "elapsed": (job.ended_at or known.now) - job.created_at,
        "is_test": job.params.get("provider") == "sandbox",
    }


@require_POST
def cancel_job(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    job = own_job(request, job_id)
    if not outcomes.cancel(job.pk, timezone.now()):
        messages.warning(request, _why_not_cancelled(job))
    response = redirect(reverse("job", args=[job.pk]))
    response.status_code = 303
    return response


def _why_not_cancelled(job: Job) -> str:
    job.refresh_from_db(fields=["state"])
    if job.state == JobState.CANCELLED:
        return _("It had been cancelled already.")
    if job.state in OPEN:
        return _("It was too late to cancel: the request was already on its way.")
    return _("It was too late to cancel: it had already ended.")
