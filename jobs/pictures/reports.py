"""A job as the command line reports it: plain words and numbers, money as text."""

from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings

from jobs.core.models import Job
from jobs.core.works import find_calls
from providers.calls.models import Call
from providers.calls.money import format_amount
from quotas.models import Attempt


def build_report(job: Job) -> dict[str, Any]:
    """`job` is read with its attempt; calls and pictures are read here, after it."""
    root = Path(settings.MEDIA_ROOT).absolute()
    pictures = job.pictures.order_by("position").values_list("file", flat=True)
    return {
        **report_of_new(job),
        "calls": [_call(call) for call in find_calls(job.pk)],
        "pictures": [str(root / file) for file in pictures],
    }


def report_of_new(job: Job) -> dict[str, Any]:
    """Of a job as it was ordered; asks the database nothing."""
    return {
        "job": str(job.pk),
        "state": str(job.state),
        "attempt": _attempt(job.attempt) if job.attempt else None,
        "calls": [],
        "pictures": [],
        "error": job.reason or None,
    }


def report_of_none(error: str) -> dict[str, Any]:
    """The same fields for an order that was refused, and so has no job."""
    return {
        "job": None,
        "state": None,
        "attempt": None,
        "calls": [],
        "pictures": [],
        "error": error,
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {"day": str(attempt.day), "slot": attempt.slot, "state": str(attempt.state)}


def _call(call: Call) -> dict[str, Any]:
    return {
        "id": call.pk,
        "provider": call.provider,
        "model": call.model,
        "reference": call.reference,
        "state": str(call.state),
        "cost": _money(call.cost),
        "cost_estimate": _money(call.cost_estimate),
        "currency": call.currency,
    }


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None else format_amount(amount)
