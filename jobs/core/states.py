"""States of a job, and what may follow what.

    queued ──> running ──> ready <── (a late result) ── failed, cancelled, not_confirmed
      │ <──────── │ ^      back to the queue: a 429, or not sent in time
      │           v │
      │        in_doubt ──> ready, failed, not_confirmed, queued
      ├──> cancelled
      └──> failed

`ready failed cancelled not_confirmed` are ends. A late result takes any of the others to `ready`;
nothing else leaves an end. What was cancelled in the queue may have been asked of a provider before
that refused it, and yet made it.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class JobState(models.TextChoices):
    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Generating")
    IN_DOUBT = "in_doubt", _("Confirming")
    READY = "ready", _("Ready")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")
    NOT_CONFIRMED = "not_confirmed", _("Not confirmed")


S = JobState
ENDS = frozenset({S.READY, S.FAILED, S.CANCELLED, S.NOT_CONFIRMED})
OPEN = frozenset({S.QUEUED, S.RUNNING, S.IN_DOUBT})
# Ended without a picture, so that another try pays for nothing twice.
RETRYABLE = ENDS - {S.READY}

SOURCES: dict[JobState, frozenset[JobState]] = {
    S.QUEUED: frozenset({S.RUNNING, S.IN_DOUBT}),
    S.RUNNING: frozenset({S.QUEUED, S.IN_DOUBT}),
    S.IN_DOUBT: frozenset({S.RUNNING}),
    S.READY: frozenset({S.RUNNING, S.IN_DOUBT, S.FAILED, S.CANCELLED, S.NOT_CONFIRMED}),
    S.FAILED: frozenset({S.QUEUED, S.RUNNING, S.IN_DOUBT}),
    S.CANCELLED: frozenset({S.QUEUED}),
    S.NOT_CONFIRMED: frozenset({S.RUNNING, S.IN_DOUBT}),
}
