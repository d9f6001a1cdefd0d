"""The only code that assigns a job's state: one UPDATE filtered on the states it may come from,
the version raised and the event written in the same transaction."""

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.db import connection, transaction
from django.db.models import F

from jobs.core.events import EventName
from jobs.core.models import Event, Job
from jobs.core.states import ENDS, SOURCES, JobState

LIVE_CHANNEL = "counterfoil_job"


@transaction.atomic(savepoint=False)
def apply(
    job_id: uuid.UUID,
    to: JobState,
    *,
    event: EventName,
    now: datetime,
    reason: str = "",
    **facts: object,
) -> bool:
    """False when the job was not in a state that may become `to`; nothing is written then."""
    changed = Job.objects.filter(pk=job_id, state__in=SOURCES[to]).update(
        state=to,
        reason=reason,
        version=F("version") + 1,
        changed_at=now,
        ended_at=now if to in ENDS else None,
    )
    if changed:
        _write_event(job_id, event, now, facts)
    return changed == 1


@transaction.atomic(savepoint=False)
def record_event(job_id: uuid.UUID, *, event: EventName, now: datetime, **facts: object) -> None:
    """A change that a page shows without a new state."""
    Job.objects.filter(pk=job_id).update(version=F("version") + 1, changed_at=now)
    _write_event(job_id, event, now, facts)


def note_all(job_ids: Sequence[uuid.UUID], *, event: EventName, now: datetime) -> None:
    """Of many jobs, without waking live pages. Within the caller's transaction."""
    Job.objects.filter(pk__in=job_ids).update(version=F("version") + 1, changed_at=now)
    Event.objects.bulk_create([Event(job_id=pk, name=event, at=now, facts={}) for pk in job_ids])


def _write_event(
    job_id: uuid.UUID, name: EventName, now: datetime, facts: dict[str, object]
) -> None:
    Event.objects.create(job_id=job_id, name=name, at=now, facts=facts)
    if connection.vendor == "postgresql":
        # PostgreSQL sends it at the commit, once for a job however often it changed.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [LIVE_CHANNEL, str(job_id)])
