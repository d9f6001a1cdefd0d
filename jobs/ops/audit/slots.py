"""Attempts against each other and against their jobs: what `jobs/outcomes.py` leaves behind."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet
from django.db.models.functions import TruncDate

from jobs.checks import Finding, check, each, together
from jobs.core.events import EventName
from jobs.core.models import Event, Job
from jobs.core.states import ENDS, OPEN, JobState
from jobs.core.works import has_call
from providers.calls.states import LIVE, CallState
from quotas.models import Attempt, Kind
from quotas.states import HELD, AttemptState

SIGN_IN_LASTS = timedelta(hours=1)


@check("A day holds more seats than the largest allowance on its rows.")
def seats_within_allowance(now: datetime) -> Iterator[Finding]:
    held = Attempt.objects.filter(state__in=HELD)
    days = held.order_by().values("account", "kind", "day")
    counted = days.annotate(group_seats=Count("pk"), group_most=Max("allowed"))
    return together(held, counted.filter(group_seats__gt=F("group_most")))


@check("The day of an attempt is not the UTC day of its reservation.")
def attempt_day_is_utc(now: datetime) -> Iterator[Finding]:
    return each(Attempt.objects.exclude(day=TruncDate("reserved_at", tzinfo=UTC)))


@check("A slot is on hold for no job, so nothing would ever settle it.")
def pending_attempt_has_job(now: datetime) -> Iterator[Finding]:
    jobs = Job.objects.filter(attempt=OuterRef("pk"))
    return each(Attempt.objects.filter(state=AttemptState.PENDING).filter(~Exists(jobs)))


@check("A job of a kind that costs a slot has no attempt.")
def job_has_attempt(now: datetime) -> Iterator[Finding]:
    return each(Job.objects.filter(kind__in=Kind.values, attempt=None))


@check("A job's attempt is another account's or of another kind.")
def attempt_is_of_its_job(now: datetime) -> Iterator[Finding]:
    """Or of the visitor's account that was closed for the job's: what did not move with it."""
    slotted = Job.objects.filter(attempt__isnull=False)
    own = Q(attempt__account=F("account")) | Q(attempt__account__moved_to=F("account"))
    return each(slotted.exclude(own, attempt__kind=F("kind")))


@check("A job belongs to an account that was closed long ago, where no user can see it.")
def closed_account_has_no_job(now: datetime) -> Iterator[Finding]:
    """A sign-in that died leaves some; the next one of that user brings them along."""
    moved = Job.objects.filter(account__moved_to__isnull=False)
    return each(moved.filter(account__closed_at__lt=now - SIGN_IN_LASTS))


@check("A job is running, but its slot is no longer on hold.")
def open_job_holds_its_slot(now: datetime) -> Iterator[Finding]:
    return each(_jobs(OPEN, attempt__state__in=[AttemptState.SUCCESS, AttemptState.FAILED]))


@check("A job has ended, but its slot is still on hold, and no call explains it.")
def ended_job_is_settled(now: datetime) -> Iterator[Finding]:
    """Only a job that was not confirmed keeps its slot on hold, as the record of an unknown."""
    pending = _jobs(ENDS, attempt__state=AttemptState.PENDING)
    unknown = has_call(state__in=[*LIVE, CallState.GIVEN_UP])
    return each(pending.exclude(unknown, state=JobState.NOT_CONFIRMED))


@check("A job brought nothing, but its slot counts as used.")
def failed_job_gives_its_slot_back(now: datetime) -> Iterator[Finding]:
    without_result = ENDS - {JobState.READY}
    return each(_jobs(without_result, attempt__state=AttemptState.SUCCESS))


@check("A job is ready, but its slot was given back, and no late news explains it.")
def ready_job_uses_its_slot(now: datetime) -> Iterator[Finding]:
    late = has_call(late_at__isnull=False)
    decided = Event.objects.filter(
        job=OuterRef("pk"), name__in=[EventName.GIVEN_BACK, EventName.NOT_FETCHED]
    )
    given_back = _jobs({JobState.READY}, attempt__state=AttemptState.FAILED)
    return each(given_back.filter(~late, ~Exists(decided)))


def _jobs(states: frozenset[JobState] | set[JobState], **attempt: object) -> QuerySet[Job]:
    return Job.objects.filter(state__in=states, **attempt)
