"""Damage to accounts, plans and attempts."""

from datetime import timedelta

from django.db import models
from django.db.models import CharField, F, ForeignKey

from jobs.core.models import Job
from quotas.models import (
    Account,
    Alert,
    Allowance,
    Attempt,
    Grant,
    Newcomer,
    Plan,
    Site,
    Unmeasured,
)
from tests.jobs.damages.planting import (
    attempt,
    calls,
    damage,
    double,
    harm,
    let_share,
    lose,
    row_of,
)


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


@damage("job_attempt_exists")
def _(job):
    lose(attempt(job))
    return job.pk


@damage("job_attempt_once")
def _(job):
    let_share(Job, "attempt", ForeignKey(Attempt, models.PROTECT, null=True, related_name="+"))
    return double(row_of(job).get(), form_key="another")


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


@damage("account_closed_has_no_user", despite=("account_closed_has_no_user",))
def _(job):
    return harm(Account.objects.filter(pk=job.account_id), closed_at=job.created_at)


@damage("account_removal_is_of_a_former_person", despite=("account_removal_is_of_a_former_person",))
def _(job):
    return harm(Account.objects.filter(pk=job.account_id), removal_asked_at=job.created_at)


@damage("account_identity_not_blank", despite=("account_identity_not_blank",))
def _(job):
    return harm(Account.objects.filter(pk=job.account_id), name="")


@damage("account_plan_exists")
def _(job):
    lose(Plan.objects.filter(pk=job.account.plan_id))
    return job.account_id


@damage("alert_open_once", despite=("alert_open_once",))
def _(job):
    trouble = {"kind": "provider_paused", "subject": "sandbox"}
    alert = Alert.objects.create(**trouble, opened_at=job.created_at, seen_at=job.created_at)
    return double(alert)


@damage("alert_mailed_once", despite=("alert_mailed_once",))
def _(job):
    return told_twice(job, mailed_at=job.created_at, mail_due_at=job.created_at)


@damage("alert_posted_once", despite=("alert_posted_once",))
def _(job):
    return told_twice(job, posted_at=job.created_at, post_due_at=job.created_at)


def told_twice(job, **marks):
    trouble = {"kind": "provider_paused", "subject": "sandbox"}
    times = {"opened_at": job.created_at, "seen_at": job.created_at}
    return Alert.objects.create(**trouble, **times, **marks).pk


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


@damage("grant_form_once", despite=("grant_form_once",))
def _(job):
    now = job.created_at
    day = {"account": job.account, "kind": "image", "day": now.date(), "slots": 1}
    return double(Grant.objects.create(**day, reason="r", granted_at=now, form_key="sent twice"))


@damage("newcomer_seat_taken_once", despite=("newcomer_seat_taken_once",))
def _(job):
    another = Account.objects.create(
        visitor="another", plan=job.account.plan, created_at=job.created_at
    )
    return double(newcomer(job), account=another)


@damage("newcomer_number_within_allowed", despite=("newcomer_number_within_allowed",))
def _(job):
    newcomer(job)
    return harm(Newcomer.objects.all(), number=F("allowed") + 1)


def newcomer(job) -> Newcomer:
    seat = {"network": "192.0.2.1", "day": job.attempt.day, "number": 1, "allowed": 30}
    return Newcomer.objects.create(account=job.account, taken_at=job.created_at, **seat)


@damage("unmeasured_one_a_day", despite=("unmeasured_one_a_day",))
def _(job):
    day = {"day": job.created_at.date(), "why": "no_address", "requests": 1}
    return double(Unmeasured.objects.create(**day, last_at=job.created_at))


@damage("site_one_row", despite=("site_one_row",))
def _(job):
    return Site.objects.create(pk=2, name="another").pk
