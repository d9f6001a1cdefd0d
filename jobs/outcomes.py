"""Ends call, attempt, job and event together, in one transaction, for whoever brings the news:
the sender, the poller, the end of retention, and later webhooks, reconciliation and staff.

    sender, ticker ──news──> apply ──> ledger.record  the call, by compare-and-set
                                  ├──> ledger.settle  the attempt
                                  ├──> changes.move   the job and its event
                                  └──> stages         what is run next, or nothing more
"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from jobs import changes, leases, queue
from jobs.leases import StageLease
from jobs.models import Job, Picture, Stage
from jobs.states import ENDS, JobState
from providers import ledger as calls
from providers.answers import News, Rejected
from providers.ledger import Recorded
from providers.models import Call
from providers.states import CallState
from quotas import ledger as quota
from quotas.states import AttemptState

RATE_PAUSE = timedelta(seconds=30)


def job_id_of(work: str) -> uuid.UUID:
    """`image:<job>` as the job's id."""
    return uuid.UUID(work.partition(":")[2])


@transaction.atomic
def apply(call: Call, news: News, now: datetime) -> Recorded:
    """Record the news and let everything follow that follows from it; twice changes nothing."""
    job = Job.objects.select_for_update().get(pk=job_id_of(call.work))
    recorded = calls.record(call_id=call.pk, news=news, now=now)
    if recorded.late:
        _follow_late(job, recorded.call, now)
    elif recorded.changed:
        FOLLOW[CallState(recorded.call.state)](job, recorded.call, now, news)
    return recorded


@transaction.atomic
def give_up(call: Call, now: datetime) -> bool:
    """The end of retention: the job is not confirmed, its attempt stays as the record of an
    unknown, and the call counts as possibly charged."""
    job = Job.objects.select_for_update().get(pk=job_id_of(call.work))
    if not calls.give_up(call_id=call.pk, now=now):
        return False
    changes.move(job.pk, JobState.NOT_CONFIRMED, event="given_up", now=now, reason="deadline")
    leases.finish_all(job.pk, now)
    return True


@transaction.atomic
def mark_overdue(call: Call, now: datetime) -> bool:
    """Accepted and past its deadline: in doubt, polled on more slowly; no failure. An old answer
    must not throw doubt on a call that ended since it was asked."""
    job = Job.objects.select_for_update().get(pk=job_id_of(call.work))
    if not Call.objects.filter(pk=call.pk, state=CallState.ACCEPTED).exists():
        return False
    return changes.move(job.pk, JobState.IN_DOUBT, event="overdue", now=now, reason="deadline")


@transaction.atomic
def deliver(lease: StageLease, pictures: Sequence[Picture], now: datetime) -> bool:
    """Pictures, attempt, job and stage end together; False when the lease was lost."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.finish(lease, now):
        return False
    Picture.objects.bulk_create(pictures, ignore_conflicts=True)
    _settle(job, AttemptState.SUCCESS, now)
    changes.move(job.pk, JobState.READY, event="ready", now=now)
    return True


@transaction.atomic
def end_unfetched(lease: StageLease, now: datetime, *, code: str) -> bool:
    """Made and paid for, but it cannot be fetched: the slot goes back, the call keeps its cost."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.finish(lease, now):
        return False
    _settle(job, AttemptState.FAILED, now)
    changes.move(
        job.pk, JobState.FAILED, event="not_fetched", now=now, reason="not_fetched", code=code
    )
    return True


@transaction.atomic
def fail_unsent(job_id: uuid.UUID, now: datetime, *, reason: str) -> bool:
    """End a job for which no call was ever opened: nothing was sent, so the slot goes back.

    False when its sender woke after all and opened one: the job left the queue with it.
    """
    job = Job.objects.select_for_update().get(pk=job_id)
    if job.state != JobState.QUEUED:
        return False
    return _fail(job, now, reason=reason, cost_nothing=True)


@transaction.atomic
def cancel(job_id: uuid.UUID, now: datetime) -> bool:
    """Cancel a queued job and free its slot; False once its request is on the way."""
    job = Job.objects.select_for_update().get(pk=job_id)
    if not changes.move(job.pk, JobState.CANCELLED, event="cancelled", now=now):
        return False
    _settle(job, AttemptState.FAILED, now, cost_nothing=True)
    leases.finish_all(job.pk, now)
    return True


def _follow_accepted(job: Job, call: Call, now: datetime, news: News) -> None:
    if not changes.move(job.pk, JobState.RUNNING, event="accepted", now=now):
        changes.note(job.pk, event="accepted", now=now)


def _follow_unknown(job: Job, call: Call, now: datetime, news: News) -> None:
    changes.move(job.pk, JobState.IN_DOUBT, event="unknown", now=now, reason=call.why)


def _follow_rejected(job: Job, call: Call, now: datetime, news: News) -> None:
    if _may_be_sent_again(call):
        if job.unwanted_at:
            _fail(job, now, reason="unwanted", cost_nothing=True)
            return
        if _wait_a_turn(job, call, now, news):
            return
    _fail(job, now, reason=call.why, cost_nothing=True)


def _follow_failed(job: Job, call: Call, now: datetime, news: News) -> None:
    _fail(job, now, reason=call.why, cost_nothing=call.cost == 0)


def _follow_succeeded(job: Job, call: Call, now: datetime, news: News) -> None:
    if job.state == JobState.IN_DOUBT:
        changes.move(job.pk, JobState.RUNNING, event="made", now=now)
    else:
        changes.note(job.pk, event="made", now=now)
    _open_save(job, now)


FOLLOW = {
    CallState.ACCEPTED: _follow_accepted,
    CallState.UNKNOWN: _follow_unknown,
    CallState.REJECTED: _follow_rejected,
    CallState.FAILED: _follow_failed,
    CallState.SUCCEEDED: _follow_succeeded,
}


def _follow_late(job: Job, call: Call, now: datetime) -> None:
    """News after the end of a call. The state of an ended attempt is never touched again."""
    if call.late_outcome == CallState.SUCCEEDED:
        changes.note(job.pk, event="made_late", now=now)
        _open_save(job, now)
    elif job.state in ENDS and call.late_outcome in (CallState.FAILED, CallState.REJECTED):
        _settle(job, AttemptState.FAILED, now)
        changes.note(job.pk, event="failed_late", now=now)


def _fail(job: Job, now: datetime, *, reason: str, cost_nothing: bool) -> bool:
    if not changes.move(job.pk, JobState.FAILED, event="failed", now=now, reason=reason):
        return False
    _settle(job, AttemptState.FAILED, now, cost_nothing=cost_nothing)
    leases.finish_all(job.pk, now)
    return True


def _settle(job: Job, state: AttemptState, now: datetime, *, cost_nothing: bool = False) -> None:
    if job.attempt_id:
        quota.settle(attempt_id=job.attempt_id, state=state, now=now, cost_nothing=cost_nothing)


def _open_save(job: Job, now: datetime) -> None:
    """The paid result exists: fetching it is a stage of its own, whatever became of the job."""
    leases.finish_all(job.pk, now)
    Stage.objects.get_or_create(
        job_id=job.pk, name="save", defaults={"created_at": now, "due_at": now, "woken_at": now}
    )
    queue.enqueue_after_commit(job.pk)


def _may_be_sent_again(call: Call) -> bool:
    """The same provider, later: it was busy, or our own sender slept past the time to send."""
    return call.why == "rate" or call.rule == "overslept"


def _wait_a_turn(job: Job, call: Call, now: datetime, news: News) -> bool:
    """The job goes back to the queue and keeps its place, until POOL_WAIT is over."""
    stage = Stage.objects.unfinished().filter(job_id=job.pk, name="generate").first()
    if stage is None:
        return False
    since = stage.waiting_since or now
    last_try = since + settings.POOL_WAIT
    if now >= last_try:
        return False
    event = "busy" if call.why == "rate" else "overslept"
    changes.move(job.pk, JobState.QUEUED, event=event, now=now)
    due_at = min(now + _pause(call, news), last_try)
    Stage.objects.filter(pk=stage.pk).update(
        waiting_since=since,
        due_at=due_at,
        leased_until=None,
        lease_token=None,
        lease_holder="",
        tries=0,
    )
    return True


def _pause(call: Call, news: News) -> timedelta:
    """As long as the provider said, but each refusal of a work waits longer than the last."""
    if call.rule == "overslept":
        return timedelta()
    refusals = Call.objects.of_work(call.work).filter(why="rate").count()
    least = min(timedelta(seconds=2**refusals), RATE_PAUSE)
    said = news.why.retry_after if isinstance(news, Rejected) else None
    return RATE_PAUSE if said is None else max(least, timedelta(seconds=said))
