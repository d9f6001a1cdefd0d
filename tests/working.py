"""A job's stages as workers run them: each under its own lease, until none is due."""

import uuid
from datetime import datetime

from django.utils import timezone

from jobs.core import leases
from jobs.core.leases import StageLease
from jobs.core.models import Stage
from jobs.engine import advance as engine


def advance(job_id: uuid.UUID) -> None:
    """Run the job's due stages, the oldest first, those that they open included."""
    done: set[int] = set()
    while stage := _due(job_id, timezone.now()).exclude(pk__in=done).first():
        done.add(stage.pk)
        engine.advance(stage.pk)


def take(job_id: uuid.UUID, now: datetime) -> StageLease | None:
    """The lease of the job's oldest stage that is due."""
    stage = _due(job_id, now).first()
    return leases.take(stage.pk, now) if stage else None


def _due(job_id: uuid.UUID, now: datetime):
    return Stage.objects.due(now).filter(job=job_id).order_by("pk")
