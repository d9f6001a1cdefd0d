"""The files of pictures, and which of them a row names."""

import uuid

from jobs.checks import KeptFiles
from jobs.core.models import Picture, UnreadResult
from jobs.files import storing
from jobs.pictures import thumbnails


def _originals_of(job_ids: set[uuid.UUID]) -> set[str]:
    return set(Picture.objects.filter(job__in=job_ids).values_list("file", flat=True))


def _small_ones_of(picture_ids: set[uuid.UUID]) -> set[str]:
    there = Picture.objects.filter(pk__in=picture_ids).values_list("pk", flat=True)
    return {thumbnails.file_of(pk) for pk in there}


def _unread_of(job_ids: set[uuid.UUID]) -> set[str]:
    return set(UnreadResult.objects.filter(job__in=job_ids).values_list("file", flat=True))


FILES = (
    KeptFiles("pictures", _originals_of, Picture.objects.all),
    KeptFiles("thumbnails", _small_ones_of),
    KeptFiles(storing.UNREAD, _unread_of, UnreadResult.objects.all),
)
