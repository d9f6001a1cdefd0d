"""The work that one payment is for, as a stable key; and whom a job's person chose for it."""

import uuid

from jobs.core.models import Job
from providers.adapters.registry import Offer


def work_of(job_id: uuid.UUID) -> str:
    return f"image:{job_id}"


def job_id_of(work: str) -> uuid.UUID:
    """`image:<job>` as the job's id; raises ValueError for a work that is no job's."""
    return uuid.UUID(work.partition(":")[2])


def job_id_in(work: str) -> uuid.UUID | None:
    """None for a work that is no job's: staff look at such a call too (`call_has_job`)."""
    try:
        return job_id_of(work)
    except ValueError:
        return None


def chosen_offer(job: Job) -> Offer:
    return Offer(job.params["provider"], job.params["model"])


def fault_at(job: Job, offer: Offer) -> str:
    """The sandbox fault a person asked for: of the offer they chose, not of a fallback."""
    return job.params.get("fault", "") if offer == chosen_offer(job) else ""
