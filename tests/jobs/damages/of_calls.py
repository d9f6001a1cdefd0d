"""Damage to the call ledger."""

import uuid

from jobs.core.works import work_of
from tests.jobs.damages.planting import (
    YEAR,
    calls,
    damage,
    harm,
    lose,
    row_of,
    stages,
)


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
    return harm(row_of(job), state="queued")


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
    return harm(row_of(job), state="failed", reason="transport", ended_at=job.created_at)


@damage("failure_is_confirmed", of="sending")
def _(job):
    return harm(row_of(job), state="cancelled", ended_at=job.created_at)


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
