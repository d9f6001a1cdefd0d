"""What news means for a picture: one work, one call at a time, and a stage `save` for each result.

The paid result exists before the person has it: `save` fetches it, delivers it or finds that it
cannot be read or fetched, and only then the attempt is settled as used.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from jobs import settling
from jobs.core import leases, queue, transitions
from jobs.core.events import EventName
from jobs.core.leases import StageLease
from jobs.core.models import Job, Picture, Stage
from jobs.core.reasons import JobReason
from jobs.core.states import JobState
from jobs.core.works import chosen_offer, fault_at, find_calls
from jobs.files.storing import NoRoom, store
from jobs.followers import Case, Follower
from jobs.pictures import owner_actions, unread
from providers.adapters.registry import Offer
from providers.adapters.run_queries import can_poll
from providers.calls import ledger as calls
from providers.calls import result_files
from providers.calls.models import Call
from providers.calls.states import LIVE
from providers.outcomes import Done
from providers.routing import pool
from providers.routing.pool import Candidate
from quotas.models import Account
from quotas.states import AttemptState

log = logging.getLogger(__name__)

# How long the answer of a provider without polls waits for room on the disk, in seconds.
STORE_WITHIN = 600.0
STORE_AGAIN = 5.0


class PictureFollower(Follower):
    def candidates(self, job: Job, stage: Stage, past: Sequence[Call]) -> list[Candidate]:
        return pool.candidates(chosen_offer(job), past)

    def simulates_fault(self, case: Case) -> bool:
        return bool(fault_at(case.job, Offer(case.call.provider, case.call.model)))

    def keep(self, job: Job, call: Call, outcome: Done, now: datetime) -> Done:
        """A full disk must not lose the end of the call: the save stage polls for the answer
        again. Where there are no polls, the answer waits in memory for room."""
        try:
            if outcome.unread:
                unread.keep_answer(job.pk, call, outcome.unread, now)
        except NoRoom as exc:
            log.error("An answer cannot be kept: %s", exc)
        waited_until = time.monotonic() + (0 if can_poll(call.provider) else STORE_WITHIN)
        while True:
            try:
                return replace(
                    outcome, artifacts=result_files.keep_inline(call, outcome.artifacts, store)
                )
            except NoRoom as exc:
                log.error("A result cannot be kept: %s", exc)
                if time.monotonic() >= waited_until:
                    return replace(outcome, artifacts=result_files.drop_inline(outcome.artifacts))
                time.sleep(STORE_AGAIN)

    def made(self, case: Case, now: datetime) -> None:
        job = case.job
        if job.state == JobState.IN_DOUBT:
            transitions.apply(job.pk, JobState.RUNNING, event=EventName.MADE, now=now)
        else:
            transitions.record_event(job.pk, event=EventName.MADE, now=now)
        _open_save(case, now)

    def made_late(self, case: Case, now: datetime) -> None:
        job = case.job
        # Where it waits to request another, none is requested any more.
        if job.state != JobState.QUEUED or not transitions.apply(
            job.pk, JobState.RUNNING, event=EventName.MADE_LATE, now=now
        ):
            transitions.record_event(job.pk, event=EventName.MADE_LATE, now=now)
        _open_save(case, now)

    def failed_late(self, case: Case, now: datetime) -> None:
        settling.settle(case.job, AttemptState.FAILED, now)
        transitions.record_event(case.job.pk, event=EventName.FAILED_LATE, now=now)

    def given_up(self, case: Case, now: datetime) -> None:
        settling.end_unconfirmed(case.job, now)
        leases.finish_all(case.job.pk, now)

    def given_back(self, case: Case, now: datetime) -> bool:
        """A call that was made and cannot be read has its end already."""
        job = case.job
        given = (
            transitions.apply(
                job.pk,
                JobState.FAILED,
                event=EventName.GIVEN_BACK,
                now=now,
                reason=JobReason.GIVEN_BACK,
            )
            and (
                job.reason == JobReason.UNREAD or calls.release_slot(call_id=case.call.pk, now=now)
            )
            and settling.settle(job, AttemptState.FAILED, now)
        )
        if given:
            unread.resolve(case.call, now)
            leases.finish_all(job.pk, now)
        return given

    def conclude(
        self,
        job: Job,
        now: datetime,
        *,
        reason: str = "",
        cost_nothing: bool | None = None,
        **facts: str,
    ) -> bool:
        """Its only work has ended without a result."""
        return settling.fail(job, now, reason=reason, cost_nothing=cost_nothing, **facts)


FOLLOWER = PictureFollower()


def follower_of(job: Job) -> Follower:
    """For those who follow nothing but pictures."""
    return FOLLOWER


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
    another call in progress continues."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.release(lease, due_at=due_at):
        return False
    if not find_calls(job.pk).filter(state__in=LIVE).exists():
        transitions.apply(
            job.pk, JobState.IN_DOUBT, event=EventName.UNREAD, now=now, reason=JobReason.UNREAD
        )
    elif not job.events.filter(name=EventName.UNREAD).exists():
        transitions.record_event(job.pk, event=EventName.UNREAD, now=now)
    return True


@transaction.atomic
def end_unfetched(lease: StageLease, now: datetime, *, code: str) -> bool:
    """Made and paid for, but it cannot be fetched: the slot goes back, the call keeps its cost."""
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.finish(lease, now):
        return False
    if find_calls(job.pk).filter(state__in=LIVE).exists():
        transitions.record_event(job.pk, event=EventName.NOT_FETCHED, now=now, code=code)
        return True
    settling.settle(job, AttemptState.FAILED, now)
    if not transitions.apply(
        job.pk,
        JobState.FAILED,
        event=EventName.NOT_FETCHED,
        now=now,
        reason=JobReason.NOT_FETCHED,
        code=code,
    ):
        transitions.record_event(job.pk, event=EventName.NOT_FETCHED, now=now, code=code)
    return True


def _deliver(job: Job, pictures: Sequence[Picture], now: datetime) -> None:
    taken = Picture.objects.filter(job=job).count()
    for position, picture in enumerate(pictures, start=taken):
        picture.position = position
    Picture.objects.bulk_create(pictures)
    settling.settle(job, AttemptState.SUCCESS, now)
    if not transitions.apply(job.pk, JobState.READY, event=EventName.READY, now=now):
        transitions.record_event(job.pk, event=EventName.ANOTHER, now=now)
    gone = Account.objects.filter(pk=job.account_id, removal_asked_at__isnull=False)
    if not job.prompt or gone.exists():
        owner_actions.remove_result(job.pk, now)


def _open_save(case: Case, now: datetime) -> None:
    """The paid result exists: fetching it is a stage of its own, in every state of the job."""
    leases.finish_all(case.job.pk, now)
    stage, _ = Stage.objects.get_or_create(
        call=case.call,
        defaults={
            "job": case.job,
            "name": "save",
            "created_at": now,
            "due_at": now,
            "woken_at": now,
        },
    )
    queue.enqueue_after_commit(stage.pk)
