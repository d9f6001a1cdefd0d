"""The calls in doubt, those that have waited longest first."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.models import Job
from providers.models import Call
from quotas.models import Account

MOST = 50


@dataclass(frozen=True)
class Doubt:
    call: Call
    job_id: uuid.UUID | None
    account: Account | None
    age: timedelta


def calls_in_doubt(now: datetime) -> list[Call]:
    return list(Call.objects.in_doubt(now).order_by("sent_at", "pk")[:MOST])


def accounts_of(calls: list[Call]) -> dict[uuid.UUID, Account]:
    """By job."""
    ids = {job_id for job_id in map(job_id_in, calls) if job_id}
    jobs = Job.objects.filter(pk__in=ids).select_related("account__user")
    return {job.pk: job.account for job in jobs.only("pk", "account__name", "account__visitor",
                                                     "account__user__username")}  # fmt: skip


def doubts(now: datetime) -> list[Doubt]:
    calls = calls_in_doubt(now)
    accounts = accounts_of(calls) if calls else {}
    return [_doubt(call, accounts, now) for call in calls]


def _doubt(call: Call, accounts: dict[uuid.UUID, Account], now: datetime) -> Doubt:
    job_id = job_id_in(call)
    account = accounts.get(job_id) if job_id else None
    return Doubt(call, job_id if account else None, account, now - call.sent_at)


def job_id_in(call: Call) -> uuid.UUID | None:
    """None for a work that is no job's."""
    try:
        return uuid.UUID(call.work.partition(":")[2])
    except ValueError:
        return None
