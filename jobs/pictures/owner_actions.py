"""Delete the result of a job, for its owner or because it has been kept long enough. No call and
no attempt ends by that."""

import uuid
from collections.abc import Collection
from datetime import datetime
from functools import partial

from django.db import transaction

from jobs.core import transitions
from jobs.core.events import EventName
from jobs.core.models import Job, Picture, UnreadResult
from jobs.core.states import JobState
from jobs.files import media
from jobs.pictures import thumbnails


def delete_result(job_id: uuid.UUID, now: datetime) -> bool:
    """The owner's action on a ready job. True again for a repeated action."""
    return _forget(job_id, now, event=EventName.DELETED)


def expire_result(job_id: uuid.UUID, now: datetime) -> bool:
    """The retention of visitors' pictures is over. No person requested this."""
    return _forget(job_id, now, event=EventName.EXPIRED)


@transaction.atomic
def remove_result(job_id: uuid.UUID, now: datetime) -> None:
    """Its person was deleted, and what was theirs is removed: also a picture that came late."""
    ready = Job.objects.select_for_update().filter(pk=job_id, state=JobState.READY)
    ready.filter(result_deleted_at=None).update(result_deleted_at=now)
    remove_pictures([job_id])
    transitions.record_event(job_id, event=EventName.REMOVED, now=now)


@transaction.atomic
def _forget(job_id: uuid.UUID, now: datetime, *, event: EventName) -> bool:
    """Forget the pictures of a ready job and remove their files; job, attempt and calls stay, and
    the slot stays used. Files go after the commit, so that a crash leaves one too many at most."""
    ready = Job.objects.select_for_update().filter(pk=job_id, state=JobState.READY)
    if ready.filter(result_deleted_at=None).update(result_deleted_at=now):
        remove_pictures([job_id])
        transitions.record_event(job_id, event=event, now=now)
        return True
    return ready.exists()


def remove_pictures(job_ids: Collection[uuid.UUID]) -> None:
    """With what could not be read, and all their files, after the commit."""
    pictures = Picture.objects.filter(job__in=job_ids)
    found = pictures.values_list("pk", "file")
    files = [file for pk, original in found for file in (thumbnails.file_of(pk), original)]
    pictures.delete()
    kept = UnreadResult.objects.filter(job__in=job_ids)
    files += kept.values_list("file", flat=True)
    kept.delete()
    transaction.on_commit(partial(media.remove, files))
