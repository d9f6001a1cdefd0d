"""Housekeeping of pictures: those of visitors, and what could not be read."""

from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet

from jobs import chores
from jobs.chores import Chore
from jobs.core.models import Job, UnreadResult
from jobs.core.states import JobState
from jobs.files import media
from jobs.pictures import owner_actions, unread
from quotas.models import Kind


def tidy_visitors(now: datetime) -> int:
    some = list(_visitors_jobs(now).order_by().values_list("pk", flat=True)[: chores.BATCH])
    return sum(owner_actions.expire_result(job_id, now) for job_id in some)


def tidy_unread(now: datetime) -> int:
    """Long after staff could have delivered them."""
    some = list(_unread(now).order_by("pk").values_list("pk", "file")[: chores.BATCH])
    gone = UnreadResult.objects.filter(pk__in=[pk for pk, _ in some]).delete()[0]
    media.remove(file for _, file in some)
    return gone


def _visitors_jobs(now: datetime) -> QuerySet[Job]:
    if settings.VISITOR_PICTURES_KEPT is None:
        return Job.objects.none()
    pictures = Job.objects.kept().filter(kind=Kind.IMAGE, state=JobState.READY)
    of_visitors = pictures.filter(account__visitor__isnull=False, account__user=None)
    return of_visitors.filter(ended_at__lte=now - settings.VISITOR_PICTURES_KEPT)


def _unread(now: datetime) -> QuerySet[UnreadResult]:
    return UnreadResult.objects.filter(job__ended_at__lte=now - unread.KEPT_FOR)


CHORES = (
    Chore("pictures of visitors", lambda now: _visitors_jobs(now).count(), tidy_visitors),
    Chore("unread results", lambda now: _unread(now).count(), tidy_unread),
)
