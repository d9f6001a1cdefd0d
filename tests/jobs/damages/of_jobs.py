"""Damage to jobs, their stages and their pictures."""

import uuid
from pathlib import Path

from django.conf import settings
from django.db.models import F

from jobs.core.models import Event, Job, Lease
from tests.jobs.damages.planting import (
    YEAR,
    damage,
    harm,
    lose,
    row_of,
    stages,
)


@damage("job_state_known", despite=("job_ended_once_ended",))
def _(job):
    return harm(row_of(job), state="done")


@damage("version_counts_events")
def _(job):
    return harm(row_of(job), version=F("version") - 1)


@damage("version_counts_events")
def _(job):
    lose(Event.objects.filter(job=job))
    return job.pk


@damage("open_job_has_open_stage", of="generating")
def _(job):
    stages(job).update(done_at=job.created_at)
    return job.pk


@damage("ended_job_has_no_open_stage")
def _(job):
    return harm(stages(job).filter(name="save"), done_at=None, due_at=job.created_at)


@damage("ended_job_has_no_open_stage", of="cancelled")
def _(job):
    return harm(stages(job), done_at=None, due_at=job.created_at)


@damage("open_stage_can_be_run", of="queued")
def _(job):
    return harm(stages(job), name="paint")


@damage("lease_has_holder", of="queued")
def _(job):
    return harm(stages(job), lease_token=uuid.uuid4(), leased_until=job.created_at)


@damage("lease_ends_soon", of="queued")
def _(job):
    until = job.created_at + YEAR
    token = uuid.uuid4()
    return harm(stages(job), lease_token=token, leased_until=until, lease_holder="x", due_at=None)


@damage("stage_is_due_in_time", of="queued")
def _(job):
    return harm(stages(job), due_at=job.created_at + YEAR)


@damage("duty_ends_soon")
def _(job):
    until = job.created_at + YEAR
    return Lease.objects.create(name="ticker", token=uuid.uuid4(), holder="x", until=until).pk


@damage("deleted_result_is_gone")
def _(job):
    return harm(row_of(job), result_deleted_at=job.ended_at)


@damage("deleted_result_was_ready", of="failed")
def _(job):
    return harm(row_of(job), result_deleted_at=job.ended_at)


@damage("ready_job_has_picture")
def _(job):
    lose(job.pictures.all())
    return job.pk


@damage("picture_is_of_ready_job")
def _(job):
    harm(row_of(job), state="failed", reason="provider")
    return job.pictures.get().pk


@damage("picture_file_there")
def _(job):
    _file(job).unlink()
    return job.pictures.get().pk


@damage("picture_file_whole")
def _(job):
    with _file(job).open("ab") as file:
        file.write(b"more")
    return job.pictures.get().pk


@damage("picture_file_unchanged")
def _(job):
    content = bytearray(_file(job).read_bytes())
    content[-1] ^= 1
    _file(job).write_bytes(content)
    return job.pictures.get().pk


@damage("picture_file_inside")
def _(job):
    outside = Path(settings.MEDIA_ROOT).parent / "outside.png"
    outside.write_bytes(_file(job).read_bytes())
    return harm(job.pictures.all(), file="../outside.png")


def _file(job: Job) -> Path:
    return Path(settings.MEDIA_ROOT) / job.pictures.get().file
