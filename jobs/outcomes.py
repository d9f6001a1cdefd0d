"""Ends call, attempt, job and event together, in one transaction, for whoever brings the news:
the sender, the poller, webhooks, the search for lost submits, the end of retention, and staff.

    sender, ticker ──news──> apply ──> ledger.record  the call, by compare-and-set
                                  ├──> ledger.settle  the attempt
                                  ├──> transitions.apply   the job and its event
                                  └──> stages         what is run next, or nothing more
"""

import logging
import uuid
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db import transaction

from jobs import owner_actions
from jobs.core import transitions
from jobs.core.models import Job, Picture, Stage
from jobs.core.states import ENDS, JobState
from jobs.core.works import calls_of, chosen_offer, fault_at
from jobs.engine import leases, queue
from jobs.engine.leases import StageLease
from jobs.pictures import unread
from jobs.pictures.storing import NoRoom
from providers.adapters.registry import Offer
from providers.calls import interim, restores
from providers.calls import ledger as calls
from providers.calls.ledger import Recorded
from providers.calls.models import Call
from providers.calls.outcomes import Cause, Done, Failed, NoOutput, Outcome, Rejected
from providers.calls.states import EVIDENCE, LIVE, CallState
from providers.routing import gates, pool
from providers.routing.gates import Closed, Shift
from providers.routing.pool import Candidate
from quotas import alerts
from quotas import ledger as quota
from quotas.models import Account, AlertKind
from quotas.states import AttemptState

log = logging.getLogger(__name__)

UNREAD = "unread"
"""The reason of a job in doubt: its result was made and cannot be read."""
# Closed for so long that no turn will come.
HOPELESS = frozenset({"auth", "balance", "cap"})


@transaction.atomic
def apply(call: Call, news: Outcome, now: datetime) -> Recorded:
    """Record the news and let everything follow that follows from it; twice changes nothing."""
    job = Job.objects.select_for_update().of_work(call.work).get()
    if isinstance(news, Done) and news.unread:
        _keep_answer(job, call, news.unread, now)
    recorded = calls.record(call_id=call.pk, news=news, now=now)
    owner_actions.remove_again(job)
    if recorded.late:
        _follow_late(job, recorded.call, now)
    elif recorded.changed:
        FOLLOW[CallState(recorded.call.state)](job, recorded.call, now, news)
    return recorded


@transaction.atomic
def follow_submit(call: Call, news: Outcome, now: datetime) -> Recorded:
    """As any news; and by its answer to a submit a provider's gate is paused or opened. A fault
    that somebody asked the sandbox for says nothing about the provider."""
    recorded = apply(call, news, now)
    job = Job.objects.of_work(call.work).get()
    if recorded.changed and not fault_at(job, Offer(call.provider, call.model)):
        said = news.why.retry_after if isinstance(news, Rejected) else None
        _tell_staff(gates.follow(recorded.call, now, retry_after=said), now)
    return recorded


@transaction.atomic
def wait_a_turn(lease: StageLease, closed: Sequence[Closed], now: datetime) -> None:
    """Nobody takes the work now. It keeps its place until somebody does or POOL_WAIT is over."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.is_held(lease):
        return
    since = lease.stage.waiting_since or now
    last_try = since + settings.POOL_WAIT
    hopeful = [shut for shut in closed if shut.why not in HOPELESS or shut.until <= last_try]
    if not hopeful or now >= last_try:
        first = closed[0]
        renews_at = first.until.isoformat() if first.why == "cap" else ""
        _fail(job, now, reason=first.why, renews_at=renews_at)
        return
    due_at = min(shut.until for shut in hopeful)
    if lease.stage.waiting_since is None:
        transitions.record_event(job.pk, event="busy", now=now)
    leases.wait(lease.stage, since=since, due_at=min(max(due_at, now), last_try))


@transaction.atomic
def give_up(call: Call, now: datetime) -> bool:
    """The end of retention: the job is not confirmed, its attempt stays as the record of an
    unknown, and the call counts as possibly charged."""
    job = Job.objects.select_for_update().of_work(call.work).get()
    if not calls.give_up(call_id=call.pk, now=now):
        return False
    transitions.apply(job.pk, JobState.NOT_CONFIRMED, event="given_up", now=now, reason="deadline")
    leases.finish_all(job.pk, now)
    return True


@transaction.atomic
def give_back(call: Call, now: datetime) -> bool:
    """Staff's decision about the slot, and no evidence about the run: the attempt has failed, the
    call is given up and still pursued; one that was made and cannot be read has its end already.
    A picture that comes is delivered and takes no slot."""
    job = Job.objects.select_for_update().of_work(call.work).get()
    was_unread = job.reason == UNREAD
    given = (
        transitions.apply(job.pk, JobState.FAILED, event="given_back", now=now, reason="given_back")
        and (was_unread or calls.release_slot(call_id=call.pk, now=now))
        and _settle(job, AttemptState.FAILED, now)
    )
    if not given:
        transaction.set_rollback(True)
        return False
    unread.resolve(call, now)
    leases.finish_all(job.pk, now)
    return True


@transaction.atomic
def mark_overdue(call: Call, now: datetime) -> bool:
    """Accepted and past its deadline: in doubt, polled on more slowly; no failure. An old answer
    must not throw doubt on a call that ended since it was asked."""
    job = Job.objects.select_for_update().of_work(call.work).get()
    if not Call.objects.filter(pk=call.pk, state=CallState.ACCEPTED).exists():
        return False
    return transitions.apply(job.pk, JobState.IN_DOUBT, event="overdue", now=now, reason="deadline")


def await_output(call: Call, answer: NoOutput, now: datetime) -> None:
    """Complete, but nothing is listed: polled again for a while, and failed with its cost if there
    is nothing even then. A result that was listed before remains valid."""
    calls.note_answer(call, "complete, no output")
    interim.note_cost(call, answer.cost)
    if call.state == CallState.SUCCEEDED:
        return
    if interim.has_waited_for_output(call, now):
        apply(call, Failed(Cause("no_output", text=answer.text), answer.cost), now)
    elif interim.note_no_output(call, now):
        transitions.record_event(
            Job.objects.of_work(call.work).get().pk, event="no_output", now=now
        )


@transaction.atomic
def deliver(
    lease: StageLease,
    pictures: Sequence[Picture],
    now: datetime,
    *,
    rest_at: datetime | None = None,
    all_read: bool = True,
) -> bool:
    """Pictures, attempt, job and stage end together; False when the lease was lost. Where more of
    the result is still to be fetched the stage goes on at `rest_at`."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    ended = leases.release(lease, due_at=rest_at) if rest_at else leases.finish(lease, now)
    if not ended:
        return False
    if all_read and lease.stage.call:
        unread.resolve(lease.stage.call, now)
    _deliver(job, pictures, now)
    return True


@transaction.atomic
def deliver_kept(call: Call, picture: Picture, now: datetime) -> bool:
    """Staff's decision: this is the picture of a result that could not be read. False where the
    save of it has just ended otherwise, or its person has deleted the result."""
    job = Job.objects.select_for_update().of_work(call.work).get()
    if job.result_deleted_at or not leases.end_save(call, now):
        return False
    unread.resolve(call, now)
    _deliver(job, [picture], now)
    return True


@transaction.atomic
def hold_unread(lease: StageLease, now: datetime, *, due_at: datetime) -> bool:
    """Made, and we cannot read it: in doubt for staff, and fetched again now and then. A job with
    another call on its way goes on."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.release(lease, due_at=due_at):
        return False
    if not calls_of(job.pk).filter(state__in=LIVE).exists():
        transitions.apply(job.pk, JobState.IN_DOUBT, event="unread", now=now, reason=UNREAD)
    elif not job.events.filter(name="unread").exists():
        transitions.record_event(job.pk, event="unread", now=now)
    return True


def _deliver(job: Job, pictures: Sequence[Picture], now: datetime) -> None:
    taken = Picture.objects.filter(job=job).count()
    for position, picture in enumerate(pictures, start=taken):
        picture.position = position
    Picture.objects.bulk_create(pictures)
    _settle(job, AttemptState.SUCCESS, now)
    if not transitions.apply(job.pk, JobState.READY, event="ready", now=now):
        transitions.record_event(job.pk, event="another", now=now)
    gone = Account.objects.filter(pk=job.account_id, removal_asked_at__isnull=False)
    if not job.prompt or gone.exists():
        owner_actions.remove_result(job.pk, now)


@transaction.atomic
def end_unfetched(lease: StageLease, now: datetime, *, code: str) -> bool:
    """Made and paid for, but it cannot be fetched: the slot goes back, the call keeps its cost."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.finish(lease, now):
        return False
    if calls_of(job.pk).filter(state__in=LIVE).exists():
        transitions.record_event(job.pk, event="not_fetched", now=now, code=code)
        return True
    _settle(job, AttemptState.FAILED, now)
    if not transitions.apply(
        job.pk, JobState.FAILED, event="not_fetched", now=now, reason="not_fetched", code=code
    ):
        transitions.record_event(job.pk, event="not_fetched", now=now, code=code)
    return True


@transaction.atomic
def fail_unsent(job_id: uuid.UUID, now: datetime, *, reason: str) -> bool:
    """End a job for which no call was ever opened: nothing was sent, so the slot goes back.

    False when its sender woke after all and opened one: the job left the queue with it.
    """
    job = Job.objects.select_for_update().get(pk=job_id)
    return job.state == JobState.QUEUED and _fail(job, now, reason=reason)


@transaction.atomic
def fail_unanswerable(job_id: uuid.UUID, now: datetime) -> bool:
    """End a job that waits in the queue although nobody may be asked: what it waited for is no
    longer among the settings."""
    job = Job.objects.select_for_update().get(pk=job_id)
    last = calls_of(job.pk).last()
    reason = last.why if last else "config"
    return job.state == JobState.QUEUED and _fail(job, now, reason=reason)


@transaction.atomic
def cancel(job_id: uuid.UUID, now: datetime) -> bool:
    """Cancel a queued job and free its slot; False once its request is on the way."""
    job = Job.objects.select_for_update().get(pk=job_id)
    if not transitions.apply(job.pk, JobState.CANCELLED, event="cancelled", now=now):
        return False
    _settle(job, AttemptState.FAILED, now)
    leases.finish_all(job.pk, now)
    return True


@transaction.atomic
def cancel_restored(job_id: uuid.UUID, now: datetime) -> bool:
    """Cancel a job that was queued in a backup, and free its slot. It may have been sent since, so
    the attempt counts as one that may have cost money."""
    job = Job.objects.select_for_update().get(pk=job_id)
    if not transitions.apply(
        job.pk, JobState.CANCELLED, event="restored", now=now, reason="restored"
    ):
        return False
    if job.attempt_id is not None:
        quota.settle(
            attempt_id=job.attempt_id, state=AttemptState.FAILED, now=now, cost_nothing=False
        )
    leases.finish_all(job.pk, now)
    return True


def _follow_accepted(job: Job, call: Call, now: datetime, news: Outcome) -> None:
    if not transitions.apply(job.pk, JobState.RUNNING, event="accepted", now=now):
        transitions.record_event(job.pk, event="accepted", now=now)


def _follow_unknown(job: Job, call: Call, now: datetime, news: Outcome) -> None:
    transitions.apply(job.pk, JobState.IN_DOUBT, event="unknown", now=now, reason=call.why)


def _follow_ended(job: Job, call: Call, now: datetime, news: Outcome) -> None:
    """Rejected or failed: somebody else is asked, or the same one later, or the job has failed."""
    others = _others(job, call)
    if others and job.unwanted_at:
        _fail(job, now, reason="unwanted")
    elif not others or not _back_to_the_queue(job, call, others, now):
        _fail(job, now, reason=call.why)


def _follow_succeeded(job: Job, call: Call, now: datetime, news: Outcome) -> None:
    if job.state == JobState.IN_DOUBT:
        transitions.apply(job.pk, JobState.RUNNING, event="made", now=now)
    else:
        transitions.record_event(job.pk, event="made", now=now)
    _open_save(job, call, now)


FOLLOW = {
    CallState.ACCEPTED: _follow_accepted,
    CallState.UNKNOWN: _follow_unknown,
    CallState.REJECTED: _follow_ended,
    CallState.FAILED: _follow_ended,
    CallState.SUCCEEDED: _follow_succeeded,
}


def _follow_late(job: Job, call: Call, now: datetime) -> None:
    """News after the end of a call. The state of an ended attempt is never touched again."""
    if call.state in EVIDENCE:
        subject = f"{call.provider} {call.pk}"
        words = f"{call.provider} said {call.state}, later {call.late_outcome}"
        alerts.open_alert(kind=AlertKind.CONTRADICTION, subject=subject, words=words, now=now)
    if call.late_outcome == CallState.SUCCEEDED:
        # Where it waits to ask another, nobody is asked any more.
        if job.state != JobState.QUEUED or not transitions.apply(
            job.pk, JobState.RUNNING, event="made_late", now=now
        ):
            transitions.record_event(job.pk, event="made_late", now=now)
        _open_save(job, call, now)
    elif job.state in ENDS and call.late_outcome in (CallState.FAILED, CallState.REJECTED):
        _settle(job, AttemptState.FAILED, now)
        transitions.record_event(job.pk, event="failed_late", now=now)
    elif job.state == JobState.QUEUED and not _others(job, call):
        # It runs after all, or was billed: nobody else is waited for.
        _fail(job, now, reason=call.why)


def _keep_answer(job: Job, call: Call, answer: str, now: datetime) -> None:
    """A full disk must not lose the end of the call: the save stage polls for the answer again."""
    try:
        unread.keep_answer(job.pk, call, answer, now)
    except NoRoom as exc:
        log.error("An answer cannot be kept: %s", exc)


def _tell_staff(shift: Shift | None, now: datetime) -> None:
    if shift and shift.now == "paused":
        alerts.open_alert(
            kind=AlertKind.PROVIDER_PAUSED, subject=shift.provider, words=shift.why, now=now
        )
    elif shift:
        alerts.close_alert(kind=AlertKind.PROVIDER_PAUSED, subject=shift.provider, now=now)


def _fail(job: Job, now: datetime, *, reason: str, **facts: str) -> bool:
    if not transitions.apply(
        job.pk, JobState.FAILED, event="failed", now=now, reason=reason, **facts
    ):
        return False
    _settle(job, AttemptState.FAILED, now)
    leases.finish_all(job.pk, now)
    return True


def _settle(job: Job, state: AttemptState, now: datetime) -> bool:
    return job.attempt_id is not None and quota.settle(
        attempt_id=job.attempt_id,
        state=state,
        now=now,
        cost_nothing=not calls_of(job.pk).may_have_cost().exists(),
    )


def _open_save(job: Job, call: Call, now: datetime) -> None:
    """The paid result exists: fetching it is a stage of its own, whatever became of the job."""
    leases.finish_all(job.pk, now)
    stage, _ = Stage.objects.get_or_create(
        call=call,
        defaults={"job": job, "name": "save", "created_at": now, "due_at": now, "woken_at": now},
    )
    queue.enqueue_after_commit(stage.pk)


def _others(job: Job, call: Call) -> list[Candidate]:
    # After the backup another provider may already have been used and paid.
    if restores.is_before_restore(call):
        return []
    return pool.candidates(chosen_offer(job), list(Call.objects.of_work(call.work)))


def _back_to_the_queue(job: Job, call: Call, others: Sequence[Candidate], now: datetime) -> bool:
    """The work is sent again: to another, or to the same one later, until POOL_WAIT is over."""
    stage = Stage.objects.unfinished().filter(job=job, name="generate").first()
    if stage is None:
        return False
    since = stage.waiting_since or now
    last_try = since + settings.POOL_WAIT
    turns = [max(other.not_before or now, now) for other in others]
    if now >= last_try and not any(other.is_new for other in others):
        return False
    event, facts = _story_of(call, min(turns), now)
    if not transitions.apply(job.pk, JobState.QUEUED, event=event, now=now, **facts):
        return False
    leases.wait(stage, since=since, due_at=max(now, min(*turns, last_try)))
    return True


def _story_of(call: Call, turn: datetime, now: datetime) -> tuple[str, dict[str, str]]:
    if call.rule == "overslept":
        return "overslept", {}
    if turn > now:
        return "busy", {}
    return "fallback", {"provider": call.provider, "because": call.why}
