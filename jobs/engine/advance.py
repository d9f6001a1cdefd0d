"""Runs a stage of a job under its own lease, beside its siblings.

    advance: take the stage's lease -> run it -> it waits, ends, or opens others -> again

A stage is a function of what is in the database and may be run again at any time. An exception
ends the run, never the worker: the start stays counted and the stage is run again later.
"""

import logging
from datetime import timedelta

from django.db import DatabaseError
from django.utils import timezone

from jobs import outcomes
from jobs.core import faultpoints, leases
from jobs.core.leases import StageLease
from jobs.core.models import Stage
from jobs.core.works import find_calls
from jobs.engine import sending
from jobs.kinds import Sends, kind_of
from providers.calls.models import Call
from providers.reasons import Reason

log = logging.getLogger(__name__)

RETRY_AFTER_OUTAGE = timedelta(seconds=5)


def advance(stage_id: int) -> None:
    """Run the stage until it waits or ends."""
    while lease := leases.take(stage_id, timezone.now()):
        faultpoints.reach(f"{lease.stage.name}_leased")
        with leases.kept(lease):
            _run(lease)


def _run(lease: StageLease) -> None:
    stage = lease.stage
    try:
        kind = kind_of(stage.job)
        step = kind.stages[stage.name]
        if isinstance(step, Sends):
            sending.run(lease, kind, step)
        else:
            step(lease)
    except (DatabaseError, OSError) as exc:
        log.warning("Stage %s of job %s: %s", stage.name, stage.job_id, type(exc).__name__)
        leases.release(lease, due_at=timezone.now() + RETRY_AFTER_OUTAGE)
    except Exception:
        log.exception("Stage %s of job %s failed", stage.name, stage.job_id)
        if not fail_hopeless(stage):
            due_at = timezone.now() + leases.death_delay(stage.tries)
            leases.release(lease, due_at=due_at, progress=False)


def fail_hopeless(stage: Stage) -> bool:
    """The third death without any call: nothing was sent, so the work fails."""
    if stage.tries < leases.DEATHS_BEFORE_DELAY + 1:
        return False
    sent = Call.objects.of_work(stage.work) if stage.work else find_calls(stage.job_id)
    if sent.exists():
        return False
    follower = kind_of(stage.job).follower
    return outcomes.fail_unsent(stage, timezone.now(), follower, reason=Reason.CONFIG)
