"""Reading a person's own rows: whatever belongs to somebody else is not there."""

import uuid

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.models import Job, JobQuerySet, Picture
from jobs.pictures import work_of
from jobs.sentences import MOST_AHEAD, Known
from jobs.states import JobState
from jobs.views.errors import NotHere
from providers.models import Call


def own_jobs(request: HttpRequest) -> JobQuerySet:
    return Job.objects.of(request.account)  # type: ignore[attr-defined]


def own_job(request: HttpRequest, job_id: uuid.UUID) -> Job:
    job = own_jobs(request).select_related("attempt").filter(pk=job_id).first()
    if job is None:
        raise NotHere(_("There is no such job, or it is not yours."))
    return job


def own_picture(request: HttpRequest, picture_id: uuid.UUID) -> Picture:
    mine = Picture.objects.filter(job__in=own_jobs(request)).select_related("job")
    picture = mine.filter(pk=picture_id).first()
    if picture is None:
        raise NotHere(_("There is no such picture, or it is not yours."))
    return picture


def known_of(job: Job) -> Known:
    """Three queries, whatever the job has been through."""
    return Known(
        job=job,
        events=tuple(job.events.order_by("pk")),
        call=Call.objects.of_work(work_of(job.pk)).last(),
        ahead=_ahead_of(job),
        now=timezone.now(),
    )


def _ahead_of(job: Job) -> int:
    if job.state != JobState.QUEUED:
        return 0
    earlier = Job.objects.filter(state=JobState.QUEUED, created_at__lt=job.created_at)
    return earlier[:MOST_AHEAD].count()
