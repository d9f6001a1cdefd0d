"""Where endings meet: call, stage, attempt, job and event end together, in one transaction, for
every kind of job and for every source of news: the sender, the poller, webhooks, the search for
lost submits, the end of retention, and staff.

    news ──> apply ──> ledger.record  the call, by compare-and-set
                └────> Follower       of the job's kind ──> settling: attempt, job, event

Each function is one transaction under the lock of the job's row. `follower_of` finds the follower
of a job, since the kinds lie above this module.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.db import transaction

from jobs.core import leases, transitions
from jobs.core.events import EventName
from jobs.core.leases import StageLease
from jobs.core.models import Job, Stage
from jobs.core.reasons import JobReason
from jobs.core.states import ENDS, OPEN, JobState
from jobs.core.works import find_calls
from jobs.followers import Case, Follower
from jobs.settling import settle
from providers.calls import interim
from providers.calls import ledger as calls
from providers.calls.ledger import Recorded
from providers.calls.models import Call
from providers.calls.states import EVIDENCE, WALL, CallState
from providers.outcomes import Cause, Done, Failed, NoOutput, Outcome, Rejected
from providers.reasons import Reason
from providers.routing import gates
from providers.routing.gates import Blocked
from quotas import alerts
from quotas.models import Account, AlertKind
from quotas.states import AttemptState

SENT = (JobState.RUNNING, JobState.IN_DOUBT)

# Blocked for so long that no turn will come.
HOPELESS = frozenset({Reason.AUTH, Reason.BALANCE, Reason.CAP})

FollowerOf = Callable[[Job], Follower]


def lock_case(call: Call) -> Case:
    """The job's row is locked first, then the rest is read. Call inside a transaction."""
    job = Job.objects.select_for_update().of_work(call.work).get()
    return Case(job, Stage.objects.get(work=call.work), call)


def apply(call: Call, outcome: Outcome, now: datetime, follower_of: FollowerOf) -> Recorded:
    """Record the news and let everything follow that follows from it; twice changes nothing."""
    return _apply(call, _keep(call, outcome, now, follower_of), now, follower_of)


def _keep(call: Call, outcome: Outcome, now: datetime, follower_of: FollowerOf) -> Outcome:
    """Files are written before the transaction that records what they belong to."""
    if not isinstance(outcome, Done):
        return outcome
    job = Job.objects.of_work(call.work).get()
    return follower_of(job).keep(job, call, outcome, now)


@transaction.atomic
def _apply(call: Call, outcome: Outcome, now: datetime, follower_of: FollowerOf) -> Recorded:
    case = lock_case(call)
    follower = follower_of(case.job)
    recorded = calls.record(call_id=call.pk, news=outcome, now=now)
    # News that come after the texts of a former person were removed may bring words of theirs:
    # housekeeping removes those too, once nothing more is written about the call.
    if case.job.texts_removed_at:
        Job.objects.filter(pk=case.job.pk).update(texts_removed_at=None)
        Account.objects.filter(pk=case.job.account_id).update(removed_at=None)
    case = replace(case, call=recorded.call)
    if recorded.late:
        _follow_late(case, now, follower)
    elif recorded.changed:
        _follow(case, now, follower)
    return recorded


def follow_submit(call: Call, outcome: Outcome, now: datetime, follower_of: FollowerOf) -> Recorded:
    """As any news; and by its answer to a submit a provider's gate is paused or opened."""
    return _follow_submit(call, _keep(call, outcome, now, follower_of), now, follower_of)


@transaction.atomic
def _follow_submit(
    call: Call, outcome: Outcome, now: datetime, follower_of: FollowerOf
) -> Recorded:
    recorded = _apply(call, outcome, now, follower_of)
    case = lock_case(recorded.call)
    if recorded.changed and not follower_of(case.job).simulates_fault(case):
        said = outcome.why.retry_after if isinstance(outcome, Rejected) else None
        change = gates.follow(recorded.call, now, retry_after=said)
        if change and change.became == "open":
            alerts.open_alert(
                kind=AlertKind.PROVIDER_PAUSED, subject=change.provider, words=change.why, now=now
            )
        elif change:
            alerts.close_alert(kind=AlertKind.PROVIDER_PAUSED, subject=change.provider, now=now)
    return recorded


@transaction.atomic
def wait_a_turn(
    lease: StageLease, blocked: Sequence[Blocked], now: datetime, follower: Follower
) -> None:
    """No provider takes the work now. It keeps its place until one does or POOL_WAIT is over."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.is_held(lease):
        return
    since = lease.stage.waiting_since or now
    last_try = since + settings.POOL_WAIT
    hopeful = [each for each in blocked if each.why not in HOPELESS or each.until <= last_try]
    if not hopeful or now >= last_try:
        first = blocked[0]
        renews_at = first.until.isoformat() if first.why == Reason.CAP else ""
        follower.fail_work(job, lease.stage, now, reason=first.why, renews_at=renews_at)
        return
    due_at = min(each.until for each in hopeful)
    if lease.stage.waiting_since is None:
        transitions.record_event(job.pk, event=EventName.BUSY, now=now)
    leases.wait(lease.stage, since=since, due_at=min(max(due_at, now), last_try))


@transaction.atomic
def fail_unsent(stage: Stage, now: datetime, follower: Follower, *, reason: str) -> bool:
    """End a work for which no call was ever opened: nothing was sent.

    False when its sender woke after all and opened one.
    """
    job = Job.objects.select_for_update().get(pk=stage.job_id)
    sent = Call.objects.of_work(stage.work) if stage.work else find_calls(job.pk)
    if job.state not in OPEN or sent.exists():
        return False
    return follower.fail_work(job, stage, now, reason=reason)


@transaction.atomic
def fail_unanswerable(lease: StageLease, now: datetime, follower: Follower) -> bool:
    """End a work that waits although no provider may be requested: what it waited for is no longer
    among the settings."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    past = Call.objects.of_work(lease.stage.work or "")
    if not leases.is_held(lease) or past.filter(state__in=WALL).exists():
        return False
    last = past.last()
    reason = last.why if last else Reason.CONFIG
    return follower.fail_work(job, lease.stage, now, reason=reason)


@transaction.atomic
def give_up(call: Call, now: datetime, follower_of: FollowerOf) -> bool:
    """The end of retention: the call counts as possibly charged."""
    case = lock_case(call)
    if not calls.give_up(call_id=call.pk, now=now):
        return False
    follower_of(case.job).given_up(case, now)
    return True


@transaction.atomic
def give_back(call: Call, now: datetime, follower_of: FollowerOf) -> bool:
    """Staff's decision about the slot, and no evidence about the run: the call is given up and
    still pursued. What comes later is delivered and takes no slot."""
    case = lock_case(call)
    if follower_of(case.job).given_back(case, now):
        return True
    transaction.set_rollback(True)
    return False


@transaction.atomic
def mark_overdue(call: Call, now: datetime, follower_of: FollowerOf) -> bool:
    """Accepted and past its deadline: in doubt, polled on more slowly; no failure. An old answer
    must not throw doubt on a call that ended since it was requested."""
    case = lock_case(call)
    if not Call.objects.filter(pk=call.pk, state=CallState.ACCEPTED).exists():
        return False
    return follower_of(case.job).overdue(case, now)


def await_output(call: Call, answer: NoOutput, now: datetime, follower_of: FollowerOf) -> None:
    """Complete, but nothing is listed: polled again for a while, and failed with its cost if there
    is nothing even then. A result that was listed before remains valid."""
    calls.note_answer(call, "complete, no output")
    interim.note_cost(call, answer.cost)
    if call.state == CallState.SUCCEEDED:
        return
    if interim.has_waited_for_output(call, now):
        apply(
            call, Failed(Cause(Reason.NO_OUTPUT, text=answer.text), answer.cost), now, follower_of
        )
    elif interim.note_no_output(call, now):
        job = Job.objects.of_work(call.work).get()
        transitions.record_event(job.pk, event=EventName.NO_OUTPUT, now=now)


@transaction.atomic
def cancel(job_id: uuid.UUID, now: datetime) -> bool:
    """Cancel a queued job and free its slot; False once a request of it is on the way."""
    job = Job.objects.select_for_update().get(pk=job_id)
    if not transitions.apply(job.pk, JobState.CANCELLED, event=EventName.CANCELLED, now=now):
        return False
    settle(job, AttemptState.FAILED, now)
    leases.finish_all(job.pk, now)
    return True


@transaction.atomic
def cancel_restored(job_id: uuid.UUID, now: datetime) -> bool:
    """Cancel a job that was queued in a backup, and free its slot. It may have been sent since, so
    the attempt counts as one that may have cost money."""
    job = Job.objects.select_for_update().get(pk=job_id)
    if not transitions.apply(
        job.pk, JobState.CANCELLED, event=EventName.RESTORED, now=now, reason=JobReason.RESTORED
    ):
        return False
    settle(job, AttemptState.FAILED, now, cost_nothing=False)
    leases.finish_all(job.pk, now)
    return True


@transaction.atomic
def end_restored(stage: Stage, now: datetime, follower: Follower) -> bool:
    """End a work that was not sent when a backup was made, of a job that was: it may have been
    sent since."""
    job = Job.objects.select_for_update().get(pk=stage.job_id)
    if Call.objects.of_work(stage.work or "").filter(state__in=WALL).exists():
        return False
    return follower.fail_work(job, stage, now, reason=JobReason.RESTORED, cost_nothing=False)


def _follow(case: Case, now: datetime, follower: Follower) -> None:
    match case.call.state:
        case CallState.ACCEPTED:
            follower.accepted(case, now)
        case CallState.UNKNOWN:
            follower.unknown(case, now)
        case CallState.REJECTED | CallState.FAILED:
            follower.ended(case, now)
        case CallState.SUCCEEDED:
            follower.made(case, now)


def _follow_late(case: Case, now: datetime, follower: Follower) -> None:
    """News after the end of a call. The state of an ended attempt is never touched again."""
    call = case.call
    if call.state in EVIDENCE:
        subject = f"{call.provider} {call.pk}"
        words = f"{call.provider} said {call.state}, later {call.late_outcome}"
        alerts.open_alert(kind=AlertKind.CONTRADICTION, subject=subject, words=words, now=now)
    if call.late_outcome == CallState.SUCCEEDED:
        follower.made_late(case, now)
    elif case.job.state in ENDS and call.late_outcome in (CallState.FAILED, CallState.REJECTED):
        follower.failed_late(case, now)
    elif _waits(case) and not follower.others(case):
        # It runs after all, or was billed: no other request may follow.
        follower.fail_work(case.job, case.stage, now, reason=call.why)


def _waits(case: Case) -> bool:
    """For its next request: nothing of the work is on its way or paid."""
    if Call.objects.of_work(case.call.work).filter(state__in=WALL).exists():
        return False
    return Stage.objects.unfinished().filter(pk=case.stage.pk).exists()


@transaction.atomic
def stop_waiting(job_id: uuid.UUID, now: datetime) -> bool:
    """Note that its owner no longer waits. The call continues and may cost money, and its slot
    stays on hold until it ends; a rejected request is not sent again. True again for a repeated
    request. False for a job that has not been sent."""
    sent = Job.objects.select_for_update().filter(pk=job_id, state__in=SENT)
    if sent.filter(unwanted_at=None).update(unwanted_at=now):
        transitions.record_event(job_id, event=EventName.UNWANTED, now=now)
        return True
    return sent.exists()
