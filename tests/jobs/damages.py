"""Damage to a healthy site, planted by hand: one for each check of the audit.

`@damage(check, of, despite)`: the function takes a job made by `rows.<of>`, harms a row with the
constraints of `despite` dropped, and returns the id of the row to be named.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection, models
from django.db.models import BaseConstraint, CharField, F, Field, ForeignKey, Model, QuerySet

from jobs.audit import rules
from jobs.models import Event, Job, Lease, Stage
from jobs.pictures import work_of
from providers.models import Call
from quotas.models import Account, Allowance, Attempt, Grant, Plan

YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Damage:
    check: str
    of: str
    despite: tuple[str, ...]
    plant: Callable[[Job], object]


DAMAGES: list[Damage] = []


def damage(check: str, of: str = "ready", despite: tuple[str, ...] = ()):
    def register(plant: Callable[[Job], object]):
        DAMAGES.append(Damage(check, of, despite, plant))
        return plant

    return register


def forget(*names: str) -> None:
    """Drop constraints inside of the test's own transaction, on either database."""
    for model in rules.audited_models():
        for constraint in model._meta.constraints:
            if constraint.name in names:
                _drop(model, constraint)


def _drop(model: type[Model], constraint: BaseConstraint) -> None:
    connection.check_constraints()  # PostgreSQL alters no table with references still to check
    editor = connection.schema_editor()
    editor.deferred_sql = []
    told = model._meta.constraints
    try:
        # SQLite makes the table anew, by what the model says
        model._meta.constraints = [other for other in told if other is not constraint]
        editor.remove_constraint(model, constraint)
    finally:
        model._meta.constraints = told


def let_share(model: type[Model], name: str, loose: Field) -> None:
    """Let rows share a value: put the loose field in the place of the one that is unique."""
    connection.check_constraints()
    loose.set_attributes_from_name(name)
    loose.model = model
    editor = connection.schema_editor()
    editor.deferred_sql = []
    editor.alter_field(model, model._meta.get_field(name), loose)


def calls(job: Job) -> QuerySet[Call]:
    return Call.objects.of_work(work_of(job.pk))


def attempt(job: Job) -> QuerySet[Attempt]:
    return Attempt.objects.filter(pk=job.attempt_id)


def stages(job: Job) -> QuerySet[Stage]:
    return Stage.objects.filter(job=job)


def harm(rows: QuerySet, **columns: object) -> object:
    pk = rows.first().pk
    assert rows.model._default_manager.filter(pk=pk).update(**columns) == 1
    return pk


def lose(rows: QuerySet) -> None:
    """Without what Django does for a row that is referred to."""
    rows._raw_delete(rows.db)


def double(row: Model, **columns: object) -> object:
    row.pk = uuid.uuid4() if isinstance(row.pk, uuid.UUID) else None
    row._state.adding = True
    for name, value in columns.items():
        setattr(row, name, value)
    row.save(force_insert=True)
    return row.pk


# The quota


@damage("seats_within_allowance", despite=("attempt_slot_within_allowed",))
def _(job):
    double(attempt(job).get(), slot=2)
    Attempt.objects.update(allowed=1)
    return job.attempt_id


@damage("attempt_seat_taken_once", despite=("attempt_seat_taken_once",))
def _(job):
    return double(attempt(job).get())


@damage("attempt_slot_within_allowed", despite=("attempt_slot_within_allowed",))
def _(job):
    return harm(attempt(job), slot=F("allowed") + 1)


@damage("attempt_settled_once_ended", despite=("attempt_settled_once_ended",))
def _(job):
    return harm(attempt(job), settled_at=None)


@damage("attempt_cost_nothing_only_if_failed", despite=("attempt_cost_nothing_only_if_failed",))
def _(job):
    return harm(attempt(job), cost_nothing=True)


@damage("attempt_state_known", despite=("attempt_settled_once_ended",))
def _(job):
    return harm(attempt(job), state="refunded")


@damage("attempt_kind_known")
def _(job):
    return harm(attempt(job), kind="film")


@damage("attempt_account_exists")
def _(job):
    return harm(attempt(job), account_id=10**6)


@damage("attempt_day_is_utc")
def _(job):
    return harm(attempt(job), day=job.attempt.day - timedelta(days=1))


@damage("pending_attempt_has_job", of="queued")
def _(job):
    row = attempt(job).get()
    return double(row, slot=row.allowed)


@damage("job_has_attempt")
def _(job):
    return harm(_job(job), attempt=None)


@damage("attempt_is_of_its_job")
def _(job):
    other = Account.objects.create(
        name="other", plan=Plan.objects.first(), created_at=job.created_at
    )
    return harm(_job(job), account=other)


@damage("job_attempt_exists")
def _(job):
    lose(attempt(job))
    return job.pk


@damage("job_attempt_once")
def _(job):
    let_share(Job, "attempt", ForeignKey(Attempt, models.PROTECT, null=True, related_name="+"))
    return double(_job(job).get(), form_key="another")


@damage("account_name_once")
def _(job):
    let_share(Account, "name", CharField(max_length=150, null=True))
    return double(job.account)


@damage("open_job_holds_its_slot", of="generating")
def _(job):
    attempt(job).update(state="failed", settled_at=job.created_at)
    return job.pk


@damage("ended_job_is_settled", of="failed")
def _(job):
    attempt(job).update(state="pending", settled_at=None, cost_nothing=False)
    return job.pk


@damage("ended_job_is_settled", of="ready")
def _(job):
    attempt(job).update(state="pending", settled_at=None)
    return job.pk


@damage("ended_job_is_settled", of="not_confirmed")
def _(job):
    calls(job).update(state="failed")
    return job.pk


@damage("failed_job_gives_its_slot_back", of="failed_billed")
def _(job):
    attempt(job).update(state="success")
    return job.pk


@damage("failed_job_gives_its_slot_back", of="cancelled")
def _(job):
    attempt(job).update(state="success", cost_nothing=False)
    return job.pk


@damage("ready_job_uses_its_slot")
def _(job):
    attempt(job).update(state="failed")
    return job.pk


@damage("account_identity_not_blank", despite=("account_identity_not_blank",))
def _(job):
    return harm(Account.objects.filter(pk=job.account_id), name="")


@damage("account_plan_exists")
def _(job):
    lose(Plan.objects.filter(pk=job.account.plan_id))
    return job.account_id


@damage("allowance_one_a_kind", despite=("allowance_one_a_kind",))
def _(job):
    return double(Allowance.objects.first())


@damage("allowance_slots_within_reason", despite=("allowance_slots_within_reason",))
def _(job):
    return harm(Allowance.objects.all(), slots=100_001)


@damage("grant_slots_within_reason", despite=("grant_slots_within_reason",))
def _(job):
    now = job.created_at
    return Grant.objects.create(
        account=job.account, kind="image", day=now.date(), slots=0, reason="", granted_at=now
    ).pk


# The calls


@damage("call_wall", despite=("call_wall",))
def _(job):
    return double(calls(job).get(), reference=None)


@damage("call_wall", of="generating", despite=("call_wall",))
def _(job):
    return double(calls(job).get(), state="unknown", reference=None)


@damage("call_reference_once", despite=("call_reference_once",))
def _(job):
    return double(calls(job).get(), work=work_of(uuid.uuid4()))


@damage("call_live_is_looked_at", of="lost", despite=("call_live_is_looked_at",))
def _(job):
    return harm(calls(job), poll_at=None)


@damage("call_ended_once_ended", despite=("call_ended_once_ended",))
def _(job):
    return harm(calls(job), ended_at=None)


@damage("call_accepted_has_reference", of="generating", despite=("call_accepted_has_reference",))
def _(job):
    return harm(calls(job), reference=None)


@damage("call_cost_not_negative", despite=("call_cost_not_negative",))
def _(job):
    return harm(calls(job), cost=-1)


@damage("call_late_only_after_end", of="generating", despite=("call_late_only_after_end",))
def _(job):
    return harm(calls(job), late_outcome="succeeded", late_at=job.created_at)


@damage("call_state_known", despite=("call_ended_once_ended",))
def _(job):
    return harm(calls(job), state="paid")


@damage("call_has_job")
def _(job):
    return harm(calls(job), work=work_of(uuid.uuid4()))


@damage("call_has_job")
def _(job):
    return harm(calls(job), work="image:not-an-id")


@damage("live_call_is_looked_at_in_time", of="generating")
def _(job):
    return harm(calls(job), poll_at=job.created_at + YEAR)


@damage("ended_call_rests")
def _(job):
    return harm(calls(job), poll_at=job.created_at)


@damage("call_money_is_sane")
def _(job):
    return harm(calls(job), currency="")


@damage("call_money_is_sane")
def _(job):
    return harm(calls(job), cost=2_000_000)


@damage("call_money_is_sane", of="generating")
def _(job):
    return harm(calls(job), cost_estimate=-1)


@damage("rejected_call_cost_nothing", of="failed")
def _(job):
    return harm(calls(job), cost=5)


@damage("queued_job_sent_nothing", of="sending")
def _(job):
    return harm(_job(job), state="queued")


@damage("running_job_has_call", of="generating")
def _(job):
    lose(calls(job))
    return job.pk


@damage("in_doubt_job_has_call", of="lost")
def _(job):
    lose(calls(job))
    return job.pk


@damage("failure_is_confirmed", of="lost")
def _(job):
    return harm(_job(job), state="failed", reason="transport", ended_at=job.created_at)


@damage("failure_is_confirmed", of="sending")
def _(job):
    return harm(_job(job), state="cancelled", ended_at=job.created_at)


@damage("not_confirmed_job_gave_up", of="not_confirmed")
def _(job):
    calls(job).update(state="rejected")
    return job.pk


@damage("ready_job_was_made")
def _(job):
    calls(job).update(state="failed")
    return job.pk


@damage("paid_result_is_saved", of="saving")
def _(job):
    lose(stages(job).filter(name="save"))
    return calls(job).get().pk


# Jobs and their stages


@damage("job_state_known", despite=("job_ended_once_ended",))
def _(job):
    return harm(_job(job), state="done")


@damage("job_ended_once_ended", despite=("job_ended_once_ended",))
def _(job):
    return harm(_job(job), ended_at=None)


@damage("job_failed_says_why", of="failed", despite=("job_failed_says_why",))
def _(job):
    return harm(_job(job), reason="")


@damage("job_form_once", despite=("job_form_once",))
def _(job):
    return double(_job(job).get(), attempt=None)


@damage("job_account_exists")
def _(job):
    return harm(_job(job), account_id=10**6)


@damage("version_counts_events")
def _(job):
    return harm(_job(job), version=F("version") - 1)


@damage("version_counts_events")
def _(job):
    lose(Event.objects.filter(job=job))
    return job.pk


@damage("event_job_exists", of="queued")
def _(job):
    event = Event.objects.filter(job=job).first()
    lose(_job(job))
    return event.pk


@damage("stage_job_exists", of="queued")
def _(job):
    stage = stages(job).get()
    lose(_job(job))
    return stage.pk


@damage("stage_once_a_job", despite=("stage_once_a_job",))
def _(job):
    return double(stages(job).first())


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


# Pictures


@damage("deleted_result_is_gone")
def _(job):
    return harm(_job(job), result_deleted_at=job.ended_at)


@damage("ready_job_has_picture")
def _(job):
    lose(job.pictures.all())
    return job.pk


@damage("picture_is_of_ready_job")
def _(job):
    harm(_job(job), state="failed", reason="provider")
    return job.pictures.get().pk


@damage("picture_job_exists")
def _(job):
    picture = job.pictures.get()
    lose(_job(job))
    return picture.pk


@damage("picture_once_a_position", despite=("picture_once_a_position",))
def _(job):
    return double(job.pictures.get())


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


def _job(job: Job) -> QuerySet[Job]:
    return Job.objects.filter(pk=job.pk)


def _file(job: Job) -> Path:
    return Path(settings.MEDIA_ROOT) / job.pictures.get().file
