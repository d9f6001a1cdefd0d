"""The work that one payment is for, as a stable key on its stage, and the calls of a job's works.

call.work == stage.work ──> stage.job
"""

import uuid

from django.db.models import Exists, OuterRef, Q

from jobs.core.models import Job, Stage
from providers.adapters.registry import Offer
from providers.calls.models import Call, CallQuerySet
from providers.calls.states import CallState

# The provider has done the work and charges for it.
PAID = Q(state=CallState.SUCCEEDED) | Q(late_outcome=CallState.SUCCEEDED)


def work_of(job_id: uuid.UUID) -> str:
    """Of the picture of a job."""
    return f"image:{job_id}"


def find_calls(job_id: uuid.UUID) -> CallQuerySet:
    """Of all works of the job, oldest first."""
    works = Stage.objects.filter(job=job_id, work__isnull=False).values("work")
    return Call.objects.filter(work__in=works).order_by("pk")


def has_call(*conditions: Q, **columns: object) -> Exists:
    """For a query of jobs: any work of theirs has such a call."""
    calls = Call.objects.filter(*conditions, work=OuterRef("work"), **columns)
    return Exists(Stage.objects.filter(Exists(calls), job=OuterRef("pk")))


def chosen_offer(job: Job) -> Offer:
    return Offer(job.params["provider"], job.params["model"])


def fault_at(job: Job, offer: Offer) -> str:
    """The sandbox fault that a person requested: of the offer they chose, not of a fallback."""
    return job.params.get("fault", "") if offer == chosen_offer(job) else ""
