"""Read a person's own rows. A row of another person is a 404."""

import uuid

from django.db.models import Q
from django.http import Http404
from django.utils.translation import gettext as _

from jobs.core.models import Job, JobQuerySet, Picture
from jobs.people.requests import SiteRequest


class NotHere(Http404):
    """A 404 page that shows the sentence of this exception."""


def own_jobs(request: SiteRequest) -> JobQuerySet:
    return Job.objects.of(request.account)


def own_job(request: SiteRequest, job_id: uuid.UUID) -> Job:
    job = own_jobs(request).select_related("attempt").filter(pk=job_id).first()
    if job is None:
        raise NotHere(_("This job does not exist, or you do not have access to it."))
    return job


def own_picture(request: SiteRequest, picture_id: uuid.UUID) -> Picture:
    mine = Picture.objects.filter(job__in=own_jobs(request)).select_related("job", "call")
    picture = mine.filter(pk=picture_id).first()
    if picture is None:
        raise NotHere(_("This picture does not exist, or you do not have access to it."))
    return picture


def find_neighbours(
    request: SiteRequest, picture: Picture
) -> tuple[Picture | None, Picture | None]:
    """The next newer and the next older picture, in the order of the gallery."""
    mine = Picture.objects.filter(job__in=own_jobs(request))
    at, pk = picture.job.created_at, picture.job_id
    newer = Q(job__created_at__gt=at) | Q(job__created_at=at, job__pk__lt=pk)
    older = Q(job__created_at__lt=at) | Q(job__created_at=at, job__pk__gt=pk)
    return (
        mine.filter(newer).order_by("job__created_at", "-job__pk", "position").first(),
        mine.filter(older).order_by("-job__created_at", "job__pk", "position").first(),
    )
