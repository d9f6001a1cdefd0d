"""Taking an order: let a new visitor in, claim the form, take the seat and open the job, in one
transaction."""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

from django.db import IntegrityError, transaction

from jobs.core import faultpoints, queue, transitions
from jobs.core.events import EventName
from jobs.core.models import Job, Stage
from jobs.core.states import RETRYABLE, JobState
from jobs.core.works import work_of
from providers.adapters.registry import Offer
from quotas import accounts, ledger, new_visitors
from quotas.ledger import Refused
from quotas.models import Account, Kind


@dataclass(frozen=True)
class PictureOrder:
    """The fields of the form, checked. The same fields under the same key are the same job."""

    prompt: str
    aspect_ratio: str
    offer: Offer
    fault: str = ""

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


class NotRetried(Exception):
    """The earlier job is still running or has its picture, so another try might pay twice."""

    def __init__(self, earlier: Job) -> None:
        super().__init__(str(earlier))
        self.earlier = earlier


def new_form_key() -> str:
    """What makes a form that is sent twice one order."""
    return secrets.token_urlsafe(24)


def order_picture(
    *,
    account: Account,
    order: PictureOrder,
    form_key: str,
    now: datetime,
    retry_of: Job | None = None,
    network: str = "",
) -> Job | Refused:
    """The new job, the job this form has made before, or why the quota refuses.

    `retry_of` is a job of the same account, `network` where a visitor comes from who may be new.
    Raises NotRetried.
    """
    try:
        return _come_in(account, order, form_key, now, retry_of, network)
    except IntegrityError:
        mine = Job.objects.filter(account__in=accounts.rows_of(account))
        return mine.get(form_key=form_key, form_digest=order.digest())


@transaction.atomic
def _come_in(
    account: Account,
    order: PictureOrder,
    form_key: str,
    now: datetime,
    retry_of: Job | None,
    network: str,
) -> Job | Refused:
    """The account's row first, a new visitor's seat, then the order; a refusal leaves nothing.

    A double click of a new visitor waits for the row, and then the visitor is not new.
    """
    spender, is_new = accounts.save_if_new(account, now=now)
    answer: Job | Refused
    if is_new and spender.visitor and not _take_visitor_seat(spender, network, now):
        answer = Refused(
            "new_visitors", ledger.read_balance(spender, Kind.IMAGE, ledger.utc_day(now))
        )
    else:
        answer = _open(spender, order, form_key, now, retry_of)
    if isinstance(answer, Refused):
        transaction.set_rollback(True)
    return answer


def _take_visitor_seat(visitor: Account, network: str, now: datetime) -> bool:
    if not network:
        raise ValueError("a new visitor comes from a network")
    return new_visitors.take_seat(account=visitor, network=network, now=now)


def _open(
    account: Account, order: PictureOrder, form_key: str, now: datetime, retry_of: Job | None
) -> Job | Refused:
    """Claim first, then the seat: a double click waits here and then finds the first one's job."""
    job = Job.objects.create(
        account=account,
        kind=Kind.IMAGE,
        state=JobState.QUEUED,
        prompt=order.prompt,
        params={
            "aspect_ratio": order.aspect_ratio,
            "provider": order.offer.provider,
            "model": order.offer.model,
            "fault": order.fault,
        },
        form_key=form_key,
        form_digest=order.digest(),
        retry_of=retry_of,
        try_number=retry_of.try_number + 1 if retry_of else 1,
        created_at=now,
        changed_at=now,
    )
    if retry_of and retry_of.state not in RETRYABLE:
        raise NotRetried(retry_of)
    attempt = ledger.reserve(account=account, kind=Kind.IMAGE, now=now)
    if isinstance(attempt, Refused):
        return attempt
    job.attempt = attempt
    job.save(update_fields=["attempt"])
    stage = Stage.objects.create(
        job=job, name="generate", work=work_of(job.pk), created_at=now, due_at=now, woken_at=now
    )
    transaction.on_commit(partial(faultpoints.reach, "job_committed"))
    queue.enqueue_after_commit(stage.pk)
    transitions.record_event(
        job.pk, event=EventName.RESERVED, now=now, day=str(attempt.day), slot=attempt.slot
    )
    return job
