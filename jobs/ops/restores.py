"""What a restored database must not do again. The rows are those of the moment when the backup was
made; since then the site may have sent, mailed, delivered and signed out, and nothing here knows.

- Queued jobs may have been sent: they are cancelled, and their slots go back. So may works that
  were not sent of a job that had sent others: they end without a request.
- Open calls are followed as ever, by their ids or as calls in doubt. None of them leads to another
  request (`outcomes`), and no provider's list is compared with them (`providers.calls.restores`).
- What may have been mailed or posted is not mailed or posted again.
- Messages of the queue, leases and signs of life are those of processes that are gone.
- Sessions end: one that was ended since the backup would be open again.
"""

from datetime import datetime

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django_q.models import OrmQ

from jobs import outcomes
from jobs.core import leases
from jobs.core.models import Heartbeat, Job, Lease, Stage
from jobs.core.states import JobState
from jobs.kinds import follower_of
from providers.calls.models import Call, Restore, SmokeTest
from providers.calls.states import WALL
from quotas.models import Alert


@transaction.atomic
def take_over(*, backup_made_at: datetime | None, now: datetime) -> int:
    """How many jobs were cancelled. Call before any process of the site runs on the database."""
    last_call = Call.objects.aggregate(newest=Max("pk", default=0))["newest"]
    Restore.objects.create(restored_at=now, backup_made_at=backup_made_at, last_call=last_call)
    OrmQ.objects.all().delete()
    Lease.objects.all().delete()
    Heartbeat.objects.all().delete()
    Session.objects.all().delete()
    Stage.objects.unfinished().filter(lease_token__isnull=False).update(**leases.FREE, due_at=now)
    Stage.objects.unfinished().update(woken_at=None)
    Job.objects.filter(notice_due_at__isnull=False).update(notice_due_at=None)
    due = Alert.objects.filter(Q(mail_due_at__isnull=False) | Q(post_due_at__isnull=False))
    due.update(mail_due_at=None, post_due_at=None)
    # A verdict would be about the restore, not about the provider.
    SmokeTest.objects.running().delete()
    queued = list(Job.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True))
    cancelled = sum(outcomes.cancel_restored(job_id, now) for job_id in queued)
    for stage in _unsent_works():
        outcomes.end_restored(stage, now, follower_of(stage.job))
    return cancelled


def _unsent_works() -> QuerySet[Stage]:
    """Of jobs that had sent others."""
    sent = Call.objects.filter(work=OuterRef("work"), state__in=WALL)
    unsent = Stage.objects.unfinished().filter(~Exists(sent), work__isnull=False)
    return unsent.filter(job__state__in=[JobState.RUNNING, JobState.IN_DOUBT]).select_related("job")
