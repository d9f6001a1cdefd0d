"""Damage to jobs, their stages and their pictures."""

import uuid
from pathlib import Path

from django.conf import settings
from django.db.models import F

from jobs.core.models import Event, Job, Lease, StaffAction
from tests.jobs.damages.planting import (
    YEAR,
    damage,
    double,
    harm,
    lose,
    row_of,
    stages,
)


@damage("job_state_known", despite=("job_ended_once_ended",))
def _(job):
    return harm(row_of(job), state="done")


@damage("job_ended_once_ended", despite=("job_ended_once_ended",))
def _(job):
    return harm(row_of(job), ended_at=None)


@damage("job_failed_says_why", of="failed", despite=("job_failed_says_why",))
def _(job):
    return harm(row_of(job), reason="")


@damage("job_notified_once", despite=("job_notified_once",))
def _(job):
    return harm(row_of(job), notified_at=job.ended_at, notice_due_at=job.ended_at)


@damage("staff_action_says_who_and_why", despite=("staff_action_says_who_and_why",))
def _(job):
    nameless = {"deed": "check", "subject": "call", "at": job.created_at, "job": job}
    return StaffAction.objects.create(reason="asked", **nameless).pk


@damage("job_form_once", despite=("job_form_once",))
def _(job):
    return double(row_of(job).get(), attempt=None)


@damage("job_account_exists")
def _(job):
    return harm(row_of(job), account_id=10**6)


@damage("version_counts_events")
def _(job):
    return harm(row_of(job), version=F("version") - 1)


@damage("version_counts_events")
def _(job):
    lose(Event.objects.filter(job=job))
    return job.pk


@damage("event_job_exists", of="queued")
def _(job):
    event = Event.objects.filter(job=job).first()
    lose(row_of(job))
    return event.pk


@damage("stage_job_exists", of="queued")
def _(job):
    stage = stages(job).get()
    lose(row_of(job))
    return stage.pk


@damage("stage_saves_a_call", despite=("stage_saves_a_call",))
def _(job):
    return harm(stages(job).filter(name="save"), call=None)


@damage("stage_once_a_job", despite=("stage_once_a_job",))
def _(job):
    # Steps that send nothing.
    first = double(stages(job).get(name="generate"), name="count", work=None)
    double(stages(job).get(pk=first))
    return first


@damage("stage_once_a_work", despite=("stage_once_a_work",))
def _(job):
    return double(stages(job).get(name="generate"))


@damage("stage_work_is_named", despite=("stage_work_is_named",))
def _(job):
    return harm(stages(job).filter(name="generate"), work="")


@damage("stage_goes_on", of="queued", despite=("stage_goes_on",))
def _(job):
    return harm(stages(job), due_at=None)


@damage("stage_lease_whole", of="queued", despite=("stage_lease_whole",))
def _(job):
    return harm(stages(job), lease_token=uuid.uuid4(), lease_holder="someone")


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


@damage("ready_job_has_picture")
def _(job):
    lose(job.pictures.all())
    return job.pk


@damage("picture_is_of_ready_job")
def _(job):
    harm(row_of(job), state="failed", reason="provider")
    return job.pictures.get().pk


@damage("picture_job_exists")
def _(job):
    picture = job.pictures.get()
    lose(row_of(job))
    return picture.pk


@damage("picture_once_a_position", despite=("picture_once_a_position",))
def _(job):
    return double(job.pictures.get())


@damage("unread_result_once", of="unread_result", despite=("unread_result_once",))
def _(job):
    return double(job.unread_results.get())


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
