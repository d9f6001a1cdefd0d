"""Jobs against their stages, events and pictures: every open job can continue."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from jobs.checks import Finding, check, each
from jobs.core.events import EventName
from jobs.core.models import Event, Job, Lease, Stage
from jobs.core.states import ENDS, JobState
from jobs.core.works import PAID
from jobs.kinds import KINDS
from providers.adapters.registry import longest_retention
from providers.calls.models import Call

# Other machines' clocks, and settings that were shortened since, are no damage.
SLACK = timedelta(hours=1)


@check("A job's version is not one more than the events of its history.")
def version_counts_events(now: datetime) -> Iterator[Finding]:
    events = Event.objects.filter(job=OuterRef("pk")).order_by().values("job")
    counted = Subquery(events.annotate(n=Count("pk")).values("n"))
    return each(Job.objects.exclude(version=1 + Coalesce(counted, 0)))


@check("A job is open, but has no unfinished stage, so nothing would move it.")
def open_job_has_open_stage(now: datetime) -> Iterator[Finding]:
    stages = Stage.objects.unfinished().filter(job=OuterRef("pk"))
    return each(Job.objects.open().filter(~Exists(stages)))


@check("A job has ended, but a stage of it would still be run.")
def ended_job_has_no_open_stage(now: datetime) -> Iterator[Finding]:
    """But for the save of a result that came after the end, or of which a part is missing."""
    ended = Stage.objects.unfinished().filter(job__state__in=ENDS)
    missing = Exists(
        Event.objects.filter(job=OuterRef(OuterRef("job")), name=EventName.FETCH_FAILED)
    )
    paid = Exists(Call.objects.filter(PAID & (Q(pictures=None) | missing), pk=OuterRef("call")))
    return each(ended.exclude(paid, name="save"))


@check("A stage is of a name or kind that no worker can run.")
def open_stage_can_be_run(now: datetime) -> Iterator[Finding]:
    known = Q(pk__in=[])
    for kind in KINDS.values():
        known |= Q(job__kind=kind.name, name__in=list(kind.stages))
    return each(Stage.objects.unfinished().exclude(known))


@check("A stage has a lease without a holder, or ended with its lease.")
def lease_has_holder(now: datetime) -> Iterator[Finding]:
    leased = Stage.objects.filter(lease_token__isnull=False)
    return each(leased.filter(Q(lease_holder="") | Q(done_at__isnull=False)))


@check("A stage is leased for longer than any process asks for.")
def lease_ends_soon(now: datetime) -> Iterator[Finding]:
    return each(Stage.objects.leased(now + settings.LEASE_LASTS + SLACK))


@check("A stage is due only after every result is gone.")
def stage_is_due_in_time(now: datetime) -> Iterator[Finding]:
    latest = now + max(longest_retention(), settings.LOST_RETENTION) + SLACK
    return each(Stage.objects.unfinished().filter(due_at__gt=latest))


@check("A duty has no holder, or is taken for so long that no other process can get it.")
def duty_ends_soon(now: datetime) -> Iterator[Finding]:
    latest = now + settings.TICKER_LEASE_LASTS + SLACK
    return each(Lease.objects.filter(Q(until__gt=latest) | Q(holder="")))


@check("A person deleted a result, although the job was not ready.")
def deleted_result_was_ready(now: datetime) -> Iterator[Finding]:
    deleted = Job.objects.filter(result_deleted_at__isnull=False)
    return each(deleted.exclude(state=JobState.READY))
