"""What a person may still wish once a request was sent. No wish ends a call or an attempt."""

import uuid
from datetime import datetime

from django.db import transaction

from jobs import changes
from jobs.models import Job
from jobs.states import JobState

SENT = (JobState.RUNNING, JobState.IN_DOUBT)


@transaction.atomic
def stop_waiting(job_id: uuid.UUID, now: datetime) -> bool:
    """Note that nobody waits: the call goes on and may cost, its slot stays on hold until it ends.
    Only a request that surely was not executed is not sent again. True again for the same wish;
    False for a job that is not on its way."""
    sent = Job.objects.select_for_update().filter(pk=job_id, state__in=SENT)
    if sent.filter(unwanted_at=None).update(unwanted_at=now):
        changes.note(job_id, event="unwanted", now=now)
        return True
    return sent.exists()
