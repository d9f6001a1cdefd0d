"""Damage to accounts, plans and attempts."""

from datetime import timedelta

from quotas.models import (
    Account,
    Attempt,
    Plan,
)
from tests.jobs.damages.planting import (
    attempt,
    calls,
    damage,
    double,
    harm,
    row_of,
)


@damage("seats_within_allowance", despite=("attempt_slot_within_allowed",))
def _(job):
    double(attempt(job).get(), slot=2)
    Attempt.objects.update(allowed=1)
    return job.attempt_id


@damage("attempt_state_known", despite=("attempt_settled_once_ended",))
def _(job):
    return harm(attempt(job), state="refunded")


@damage("attempt_kind_known")
def _(job):
    return harm(attempt(job), kind="film")


@damage("attempt_day_is_utc")
def _(job):
    return harm(attempt(job), day=job.attempt.day - timedelta(days=1))


@damage("pending_attempt_has_job", of="queued")
def _(job):
    row = attempt(job).get()
    return double(row, slot=row.allowed)


@damage("job_has_attempt")
def _(job):
    return harm(row_of(job), attempt=None)


@damage("attempt_is_of_its_job")
def _(job):
    other = Account.objects.create(
        name="other", plan=Plan.objects.first(), created_at=job.created_at
    )
    return harm(row_of(job), account=other)


@damage("attempt_is_of_its_job")
def _(job):
    return harm(row_of(job), kind="contract")


@damage("closed_account_has_no_job")
def _(job):
    long_ago = job.created_at - timedelta(hours=2)
    user = Account.objects.create(plan=job.account.plan, created_at=long_ago)
    Account.objects.filter(pk=job.account_id).update(
        visitor="spent", closed_at=long_ago, moved_to=user
    )
    return job.pk


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
