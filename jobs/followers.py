"""What the news of one call means for its stage, its job and the attempt: a follower for each kind.

A job has one work or several, on sibling stages. One call ends its own stage only; the job is
concluded, and its attempt settled, once no stage with a work is open any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Q

from jobs import settling
from jobs.core import leases, transitions
from jobs.core.events import EventName
from jobs.core.models import Job, Stage
from jobs.core.reasons import JobReason
from jobs.core.states import ENDS, OPEN, JobState
from jobs.core.works import find_calls
from providers.calls import ledger as calls
from providers.calls import restores
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.outcomes import Done
from providers.reasons import Reason, Rule
from providers.routing.pool import Candidate
from quotas.states import AttemptState

MADE = Q(state=CallState.SUCCEEDED) | Q(late_outcome=CallState.SUCCEEDED)


@dataclass(frozen=True)
class Case:
    """A call with its stage and its job, the job's row locked."""

    job: Job
    stage: Stage
    call: Call


class Follower:
    """What the news of one call means for its stage, its job and the attempt. A kind of job
    overrides what differs. Each method but `keep` runs in the transaction of the news, under the
    job's lock.
    """

    def candidates(self, job: Job, stage: Stage, past: Sequence[Call]) -> list[Candidate]:
        """The offers that may be requested for the work, in order. `past` are its calls."""
        raise NotImplementedError

    def simulates_fault(self, case: Case) -> bool:
        """The person requested a fault of the test provider: no evidence about it."""
        return False

    def keep(self, job: Job, call: Call, outcome: Done, now: datetime) -> Done:
        """Write what came inside the answer to files. Before the transaction that records the
        outcome, and without the job's lock."""
        return outcome

    def open(self, job: Job, now: datetime, **facts: str) -> bool:
        """A request is about to be sent; False when the job does not allow it any more."""
        if job.state == JobState.QUEUED:
            return transitions.apply(
                job.pk, JobState.RUNNING, event=EventName.SENT, now=now, **facts
            )
        if job.state in OPEN:
            # Another work of it is on its way, or in doubt.
            transitions.record_event(job.pk, event=EventName.SENT, now=now, **facts)
        return job.state in OPEN

    def accepted(self, case: Case, now: datetime) -> None:
        if self._is_in_doubt(case, now) or not transitions.apply(
            case.job.pk, JobState.RUNNING, event=EventName.ACCEPTED, now=now
        ):
            transitions.record_event(case.job.pk, event=EventName.ACCEPTED, now=now)

    def unknown(self, case: Case, now: datetime) -> None:
        reason = case.call.why
        if (
            not transitions.apply(
                case.job.pk, JobState.IN_DOUBT, event=EventName.UNKNOWN, now=now, reason=reason
            )
            and case.job.state in OPEN
        ):
            transitions.record_event(case.job.pk, event=EventName.UNKNOWN, now=now)

    def ended(self, case: Case, now: datetime) -> None:
        """Rejected or failed: another offer is requested, or the same one later, or the work has
        failed."""
        others = self.others(case)
        if others and case.job.unwanted_at:
            self.fail_work(case.job, case.stage, now, reason=JobReason.UNWANTED)
        elif not others or not self._back_to_the_queue(case, others, now):
            self.fail_work(case.job, case.stage, now, reason=case.call.why)

    def made(self, case: Case, now: datetime) -> None:
        """The result exists and its stage is done."""
        leases.end(case.stage, now)
        if case.job.state == JobState.IN_DOUBT and not self._is_in_doubt(case, now):
            transitions.apply(case.job.pk, JobState.RUNNING, event=EventName.MADE, now=now)
        else:
            transitions.record_event(case.job.pk, event=EventName.MADE, now=now)
        self.conclude(case.job, now)

    def made_late(self, case: Case, now: datetime) -> None:
        """A result of a call that had ended. An attempt that has ended stays as it is."""
        leases.end(case.stage, now)
        if case.job.state != JobState.QUEUED or not transitions.apply(
            case.job.pk, JobState.RUNNING, event=EventName.MADE_LATE, now=now
        ):
            transitions.record_event(case.job.pk, event=EventName.MADE_LATE, now=now)
        if case.job.state in OPEN:
            self.conclude(case.job, now)
            return
        settling.settle(case.job, AttemptState.SUCCESS, now)
        transitions.apply(case.job.pk, JobState.READY, event=EventName.READY, now=now)

    def failed_late(self, case: Case, now: datetime) -> None:
        """A call that was given up has failed by evidence, or was rejected."""
        if case.job.state in ENDS:
            # An unknown that was the only reason to keep the slot on hold is none any more.
            if not self._may_have_been_made(case.job):
                settling.settle(case.job, AttemptState.FAILED, now)
            transitions.record_event(case.job.pk, event=EventName.FAILED_LATE, now=now)

    def overdue(self, case: Case, now: datetime) -> bool:
        return transitions.apply(
            case.job.pk, JobState.IN_DOUBT, event=EventName.OVERDUE, now=now, reason=Reason.DEADLINE
        )

    def given_up(self, case: Case, now: datetime) -> None:
        """The end of retention: the attempt stays as the record of an unknown."""
        leases.end(case.stage, now)
        if not self.conclude(case.job, now) and case.job.state in OPEN:
            transitions.record_event(case.job.pk, event=EventName.GIVEN_UP, now=now)

    def given_back(self, case: Case, now: datetime) -> bool:
        """Staff's decision about the slot, and no evidence about the run. False when the state of
        the call or the job does not allow it."""
        if case.job.state != JobState.IN_DOUBT or not calls.release_slot(
            call_id=case.call.pk, now=now
        ):
            return False
        leases.end(case.stage, now)
        if not self.conclude(case.job, now, reason=JobReason.GIVEN_BACK):
            transitions.record_event(case.job.pk, event=EventName.GIVEN_BACK, now=now)
        return True

    def fail_work(
        self,
        job: Job,
        stage: Stage,
        now: datetime,
        *,
        reason: str,
        cost_nothing: bool | None = None,
        **facts: str,
    ) -> bool:
        """Nothing more is requested for the work. False for a job that had ended."""
        leases.end(stage, now)
        if self.conclude(job, now, reason=reason, cost_nothing=cost_nothing, **facts):
            return True
        if job.state in OPEN:
            transitions.record_event(job.pk, event=EventName.WORK_FAILED, now=now, reason=reason)
        return job.state in OPEN

    def others(self, case: Case) -> list[Candidate]:
        # After the backup another provider may already have been used and paid.
        if restores.is_before_restore(case.call):
            return []
        return self.candidates(case.job, case.stage, list(Call.objects.of_work(case.call.work)))

    def conclude(
        self,
        job: Job,
        now: datetime,
        *,
        reason: str = "",
        cost_nothing: bool | None = None,
        **facts: str,
    ) -> bool:
        """End the job once, when all its works are done. Its slot goes back only if nothing
        succeeded and nothing that was given up may have been made."""
        if Stage.objects.unfinished().filter(job=job, work__isnull=False).exists():
            return False
        if find_calls(job.pk).filter(MADE).exists():
            return settling.succeed(job, now)
        if self._may_have_been_made(job):
            return settling.end_unconfirmed(job, now)
        reason = reason or "provider"
        return settling.fail(job, now, reason=reason, cost_nothing=cost_nothing, **facts)

    def _may_have_been_made(self, job: Job) -> bool:
        unknown = find_calls(job.pk).filter(state=CallState.GIVEN_UP, late_outcome="")
        return unknown.exclude(rule=Rule.GIVEN_BACK).exists()

    def _is_in_doubt(self, case: Case, now: datetime) -> bool:
        """Another work of the job is."""
        others = find_calls(case.job.pk).exclude(work=case.call.work)
        return others.in_doubt(now).exists()

    def _back_to_the_queue(self, case: Case, others: Sequence[Candidate], now: datetime) -> bool:
        """The work is sent again: to another, or to the same one later, until POOL_WAIT is over."""
        stage = Stage.objects.unfinished().filter(pk=case.stage.pk).first()
        if stage is None:
            return False
        since = stage.waiting_since or now
        last_try = since + settings.POOL_WAIT
        turns = [max(other.not_before or now, now) for other in others]
        if now >= last_try and not any(other.is_new for other in others):
            return False
        event, facts = _describe_return(case.call, min(turns), now)
        if not self._return_job(case, event, facts, now):
            return False
        leases.wait(stage, since=since, due_at=max(now, min(*turns, last_try)))
        return True

    def _return_job(
        self, case: Case, event: EventName, facts: dict[str, str], now: datetime
    ) -> bool:
        """A job in the queue can be cancelled, so nothing else of it is on its way, paid or given
        up."""
        siblings = find_calls(case.job.pk).exclude(work=case.call.work)
        without_result = siblings.filter(state__in=[CallState.REJECTED, CallState.FAILED])
        if siblings.count() == without_result.count():
            return transitions.apply(case.job.pk, JobState.QUEUED, event=event, now=now, **facts)
        if case.job.state not in OPEN:
            return False
        if case.job.state != JobState.IN_DOUBT or self._is_in_doubt(case, now):
            transitions.record_event(case.job.pk, event=event, now=now, **facts)
            return True
        return transitions.apply(case.job.pk, JobState.RUNNING, event=event, now=now, **facts)


def _describe_return(call: Call, turn: datetime, now: datetime) -> tuple[EventName, dict[str, str]]:
    if call.rule == Rule.SEND_WINDOW_MISSED:
        return EventName.SEND_WINDOW_MISSED, {}
    if turn > now:
        return EventName.BUSY, {}
    return EventName.FALLBACK, {"provider": call.provider, "because": call.why}
