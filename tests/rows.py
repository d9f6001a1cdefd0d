"""Jobs in every state, with the rows that the real services write: to look at and to test with.

Each function opens a job for an account at `now` and leads it somewhere, a second a step. Nothing
is sent anywhere; the file of a ready picture is written into the media folder.
"""

import io
import uuid
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from PIL import Image

from jobs import outcomes
from jobs.core import leases, transitions, works
from jobs.core.events import EventName
from jobs.core.models import Job
from jobs.core.states import JobState
from jobs.engine import incoming
from jobs.files import storing
from jobs.pictures import follow, owner_actions, unread
from jobs.pictures.orders import PictureOrder, order_picture
from jobs.pictures.saving import build_picture_row
from jobs.processes import ticker
from providers.adapters.registry import Offer
from providers.calls import ledger as calls
from providers.calls.models import Call
from providers.outcomes import (
    Accepted,
    Artifact,
    Cause,
    Done,
    Failed,
    NoAnswer,
    Outcome,
    PollResult,
    Rejected,
    Running,
    Unknown,
)
from providers.reasons import Reason
from providers.wire.picture_files import Fetched
from quotas.models import Account
from tests import working

SECOND = timedelta(seconds=1)
PROMPT = "A portrait of a baker in soft window light"
AT_WORK = Running("processing")
OFFER = Offer("sandbox", "test-picture")


def queued(
    account: Account,
    now: datetime,
    *,
    prompt: str = PROMPT,
    aspect_ratio: str = "1:1",
    fault: str = "",
    offer: Offer = OFFER,
) -> Job:
    order = PictureOrder(prompt=prompt, aspect_ratio=aspect_ratio, offer=offer, fault=fault)
    job = order_picture(account=account, order=order, form_key=uuid.uuid4().hex, now=now)
    assert isinstance(job, Job), job
    return again(job)


def sending(account: Account, now: datetime, **order: str) -> Job:
    """Its call is open and the provider has not answered yet."""
    job = queued(account, now, **order)
    _open_call(job, now + SECOND)
    return again(job)


def busy(account: Account, now: datetime, **order: str) -> Job:
    """Sent once, told to come again, back in the queue."""
    return _answered(account, now, Rejected(Cause("rate", rule="too_many", http=429)), order)


def generating(account: Account, now: datetime, **order: str) -> Job:
    return _answered(account, now, Accepted(f"gen_{uuid.uuid4().hex[:12]}"), order)


def unwanted(account: Account, now: datetime, **order: str) -> Job:
    """On its way, but its person waits no longer."""
    job = generating(account, now, **order)
    assert outcomes.stop_waiting(job.pk, now + 3 * SECOND)
    return again(job)


def lost(account: Account, now: datetime, *, rule: str = "lost", **order: str) -> Job:
    """In doubt, without the provider's id."""
    return _answered(account, now, Unknown(Cause("transport", rule=rule, text="reset")), order)


def overdue(account: Account, now: datetime, *, says: PollResult = AT_WORK, **order: str) -> Job:
    """In doubt, past its deadline; asked once more, the provider says so."""
    job = generating(account, now, **order)
    return polled(job, says, call_of(job).deadline_at + SECOND)


def silent(account: Account, now: datetime, **order: str) -> Job:
    return overdue(account, now, says=NoAnswer(Cause("transport", text="timeout")), **order)


def set_aside(account: Account, now: datetime, **order: str) -> Job:
    """Queued; its stage killed its worker three times and rests."""
    job = queued(account, now, **order)
    rests = {"due_at": now + timedelta(minutes=30), "woken_at": now}
    job.stages.update(tries=3, **rests)
    return again(job)


def saving(account: Account, now: datetime, **order: str) -> Job:
    """Made and paid for; the file is still with the provider."""
    job = generating(account, now, **order)
    return news(job, _done(), now + 5 * SECOND)


def ready(account: Account, now: datetime, **order: str) -> Job:
    return delivered(saving(account, now, **order), now + 6 * SECOND)


def deleted(account: Account, now: datetime, **order: str) -> Job:
    """Ready once; its person deleted the picture."""
    job = ready(account, now, **order)
    assert owner_actions.delete_result(job.pk, now + 9 * SECOND)
    return again(job)


def failed(account: Account, now: datetime, *, why: Reason = Reason.CONTENT, **order: str) -> Job:
    """Refused before it was run: it surely cost nothing."""
    answer = Rejected(Cause(why, rule="refused", http=422, code="SECRET_CODE", text="secret text"))
    return _answered(account, now, answer, order)


def failed_billed(account: Account, now: datetime, **order: str) -> Job:
    """Run, failed and billed, by the provider's own word."""
    job = generating(account, now, **order)
    return news(
        job, Failed(Cause("provider", code="SECRET_CODE"), Decimal("5.00")), now + 3 * SECOND
    )


def not_fetched(account: Account, now: datetime, **order: str) -> Job:
    job = saving(account, now, **order)
    lease = working.take(job.pk, now + 6 * SECOND)
    assert lease
    follow.end_unfetched(lease, now + 7 * SECOND, code="gone")
    return again(job)


def unread_result(account: Account, now: datetime, **order: str) -> Job:
    """In doubt: made, but what came is no picture."""
    job = saving(account, now, **order)
    lease = working.take(job.pk, now + 6 * SECOND)
    assert lease
    unread.keep(job.pk, call_of(job), "file", b"<svg/>", "not_a_picture", now + 6 * SECOND)
    follow.hold_unread(lease, now + 7 * SECOND, due_at=now + 60 * SECOND)
    return again(job)


def cancelled(account: Account, now: datetime, **order: str) -> Job:
    job = queued(account, now, **order)
    outcomes.cancel(job.pk, now + SECOND)
    return again(job)


def not_confirmed(account: Account, now: datetime, **order: str) -> Job:
    """In doubt to the end of retention."""
    job = lost(account, now, **order)
    call = call_of(job)
    incoming.give_up(call, call.give_up_at)
    return again(job)


def given_back(account: Account, now: datetime, **order: str) -> Job:
    """In doubt, until staff gave the slot back."""
    job = lost(account, now, **order)
    assert incoming.give_back(call_of(job), now + 30 * SECOND)
    return again(job)


def ready_late(account: Account, now: datetime, **order: str) -> Job:
    """Failed by the provider's word, slot given back; then the provider says that it was made."""
    job = failed_billed(account, now, **order)
    job = news(job, _done(), now + 60 * SECOND)
    return delivered(job, now + 61 * SECOND)


EVERY_STATE = (
    queued,
    sending,
    busy,
    generating,
    unwanted,
    lost,
    overdue,
    silent,
    saving,
    ready,
    deleted,
    failed,
    failed_billed,
    not_fetched,
    unread_result,
    cancelled,
    not_confirmed,
    given_back,
    ready_late,
)


def again(job: Job) -> Job:
    """The job as its row now is, with its attempt."""
    return Job.objects.select_related("attempt").get(pk=job.pk)


def call_of(job: Job) -> Call:
    call = Call.objects.of_work(works.work_of(job.pk)).last()
    assert call
    return call


def news(job: Job, answer: Outcome, at: datetime) -> Job:
    incoming.apply(call_of(job), answer, at)
    return again(job)


def polled(job: Job, answer: PollResult, at: datetime) -> Job:
    """As the ticker does it: the look is claimed first, then its answer followed."""
    call = call_of(job)
    calls.claim_polls([call], at)
    ticker.follow_poll(call, answer, at)
    return again(job)


def delivered(job: Job, at: datetime, *, picture: bytes | None = None) -> Job:
    lease = working.take(job.pk, at)
    assert lease, "nothing to save"
    content = picture or a_picture()
    width, height = Image.open(io.BytesIO(content)).size
    assert lease.stage.call
    row = build_picture_row(
        job.pk, lease.stage.call, Fetched(content, "image/png", "png", width, height)
    )
    storing.store(row.file, content)
    follow.deliver(lease, [row], at)
    return again(job)


def a_picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 48), "#2451c4").save(out, "PNG")
    return out.getvalue()


def _answered(account: Account, now: datetime, answer: Outcome, order: dict) -> Job:
    """Opened, leased as a worker would, and answered a second later."""
    job = queued(account, now, **order)
    lease = working.take(job.pk, now + SECOND)
    assert lease
    _open_call(job, now + SECOND)
    incoming.apply(call_of(job), answer, now + 2 * SECOND)
    leases.release(lease, due_at=call_of(job).deadline_at)
    return again(job)


@transaction.atomic
def _open_call(job: Job, at: datetime) -> None:
    offer = Offer(job.params["provider"], job.params["model"])
    transitions.apply(
        job.pk,
        JobState.RUNNING,
        event=EventName.SENT,
        now=at,
        provider=offer.provider,
        model=offer.model,
    )
    assert calls.open_call(work=works.work_of(job.pk), offer=offer, now=at)


def _done() -> Done:
    return Done((Artifact(url="http://127.0.0.1:1/result.png"),), Decimal("5.00"))
