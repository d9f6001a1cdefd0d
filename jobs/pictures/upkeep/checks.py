"""The audit of pictures: what only the code of this kind guarantees."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from django.db.models import Exists, OuterRef

from jobs.checks import Check, Finding, check, each
from jobs.core.models import Job, Picture, Stage
from jobs.core.states import JobState
from jobs.core.works import PAID
from providers.calls.models import Call
from quotas.models import Kind

CHECKS: list[Check] = []
of_pictures = partial(check, checks=CHECKS)


@of_pictures("A job is ready, but has no picture, although its user has not deleted it.")
def ready_job_has_picture(now: datetime) -> Iterator[Finding]:
    pictures = Picture.objects.filter(job=OuterRef("pk"))
    ready = Job.objects.kept().filter(kind="image", state=JobState.READY)
    return each(ready.filter(~Exists(pictures)))


@of_pictures("A person deleted a result, but its picture is still there.")
def deleted_result_is_gone(now: datetime) -> Iterator[Finding]:
    pictures = Exists(Picture.objects.filter(job=OuterRef("pk")))
    return each(Job.objects.filter(pictures, result_deleted_at__isnull=False))


@of_pictures("A picture was delivered, but its job is not ready.")
def picture_is_of_ready_job(now: datetime) -> Iterator[Finding]:
    return each(Picture.objects.exclude(job__state=JobState.READY))


@of_pictures("A result was made and paid for, but nothing fetches it.")
def paid_result_is_saved(now: datetime) -> Iterator[Finding]:
    pictures = Stage.objects.filter(work=OuterRef("work"), job__kind=Kind.IMAGE)
    return each(Call.objects.filter(PAID, Exists(pictures), stage=None))
