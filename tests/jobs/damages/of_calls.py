"""Damage to the call ledger."""

import uuid

from jobs.core.works import work_of
from providers.calls.models import Gate, Hook, SmokeTest
from tests.jobs.damages.planting import (
    YEAR,
    calls,
    damage,
    double,
    harm,
    lose,
    row_of,
    stages,
)


@damage("call_wall", despite=("call_wall",))
def _(job):
    return double(calls(job).get(), reference=None, hook_token="another")


@damage("call_wall", of="generating", despite=("call_wall",))
def _(job):
    return double(calls(job).get(), state="unknown", reference=None, hook_token="another")


@damage("call_reference_once", despite=("call_reference_once",))
def _(job):
    return double(calls(job).get(), work=work_of(uuid.uuid4()), hook_token="another")


@damage("call_hook_token_once", despite=("call_hook_token_once",))
def _(job):
    return double(calls(job).get(), work=work_of(uuid.uuid4()), reference=None)


@damage("call_fallback_names_its_rule", despite=("call_fallback_names_its_rule",))
def _(job):
    return harm(calls(job), after=calls(job).get(), after_rule="")


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


@damage("gate_one_a_model", despite=("gate_one_a_model",))
def _(job):
    Gate.objects.create(provider="sandbox", model="a")
    return Gate.objects.create(provider="sandbox", model="a").pk


@damage("gate_exhausted_is_the_whole_provider", despite=("gate_exhausted_is_the_whole_provider",))
def _(job):
    at = {"exhausted_until": job.created_at, "since": job.created_at, "why": "balance"}
    return Gate.objects.create(provider="sandbox", model="a", **at).pk


@damage("gate_paused_says_why", despite=("gate_paused_says_why",))
def _(job):
    return Gate.objects.create(provider="sandbox", paused_until=job.created_at).pk


@damage("hook_message_once", despite=("hook_message_once",))
def _(job):
    hook = {"provider": "sandbox", "message_id": "msg_1", "call": calls(job).get()}
    hook |= {"received_at": job.created_at, "is_signed": True}
    Hook.objects.create(**hook)
    return Hook.objects.create(**hook).pk


@damage("smoke_test_one_at_a_time", despite=("smoke_test_one_at_a_time",))
def _(job):
    return double(SmokeTest.objects.create(provider="sandbox", model="x", began_at=job.created_at))


@damage("smoke_test_ended_with_a_verdict", despite=("smoke_test_ended_with_a_verdict",))
def _(job):
    test = SmokeTest.objects.create(provider="sandbox", model="x", began_at=job.created_at)
    return harm(SmokeTest.objects.filter(pk=test.pk), is_good=True)
