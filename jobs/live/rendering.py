"""The present state of a job as one event, rendered once a version for all who look at it."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db import connections
from django.template.loader import render_to_string

from jobs.core.models import Job
from jobs.core.states import ENDS
from jobs.panels import Quotas, build_panel


@dataclass(frozen=True)
class Rendered:
    job_id: uuid.UUID
    version: int
    has_ended: bool
    event: bytes


def read_versions(job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    return dict(Job.objects.filter(pk__in=job_ids).values_list("pk", "version"))


def render(job_id: uuid.UUID) -> Rendered | None:
    """None for a job that is gone. A version read too low is only rendered once more."""
    job = Job.objects.select_related("attempt", "account").filter(pk=job_id).first()
    if job is None:
        return None
    context = {
        **build_panel(job),
        "quotas": Quotas(lambda: job.account),
        "has_news": True,
        "as_part": True,
    }
    html = render_to_string("_job_live.html", context)
    return Rendered(job.pk, job.version, job.state in ENDS, _event(job.version, html))


def render_and_close(job_id: uuid.UUID) -> Rendered | None:
    """For a thread that is borrowed for one rendering."""
    try:
        return render(job_id)
    finally:
        connections.close_all()


def _event(version: int, html: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in html.splitlines())
    return f"event: state\nid: {version}\n{lines}\n".encode()
