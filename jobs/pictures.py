"""The image pipeline: reserved -> sent -> generating -> saving -> ready, in two stages.

`generate` opens the call, sends once and waits for news; `save` fetches the paid result and
delivers it. Both look at the rows first, so that running one again pays nothing again.
"""

import hashlib
import logging
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction
from django.utils import timezone

from jobs import changes, faultpoints, holders, leases, outcomes
from jobs.leases import StageLease
from jobs.models import Job, Picture
from jobs.states import JobState
from providers import download
from providers import ledger as calls
from providers.answers import Submitted, Unknown, Why
from providers.base import PictureRequest
from providers.models import Call
from providers.registry import Offer, provider_named
from providers.states import CallState

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(hours=1)
STORE_AGAIN = timedelta(seconds=10)
FETCH_DELAYS = (5, 15, 60, 300, 1800)
OUTAGES = (OperationalError, InterfaceError, InternalError)
OUTAGE_PATIENCE = timedelta(minutes=10)


def work_of(job_id: uuid.UUID) -> str:
    return f"image:{job_id}"


def generate(lease: StageLease) -> None:
    """Send once, or look at what became of the call that was sent."""
    call = calls.live_call_of(work_of(lease.stage.job_id))
    if call is None:
        _open_and_send(lease)
    elif call.state == CallState.SENDING:
        _follow_lost_sender(lease, call)
    else:
        leases.release(lease, due_at=_next_look(call))


def _open_and_send(lease: StageLease) -> None:
    now = timezone.now()
    call = _open(lease, now)
    if call is None:
        leases.release(lease, due_at=now + LOOK_AGAIN)
        return
    faultpoints.reach("call_committed")
    answer = _submit(call, _request_of(lease.stage.job))
    faultpoints.reach("submit_answered")
    _through_outage(lambda: outcomes.apply(call, answer, timezone.now()))
    faultpoints.reach("submit_recorded")
    leases.release(lease, due_at=call.deadline_at)


@transaction.atomic
def _open(lease: StageLease, now: datetime) -> Call | None:
    """The job from queued to running and the call's row, together: or cancelled, and neither."""
    if not leases.is_held(lease):
        return None
    job = lease.stage.job
    offer = Offer(job.params["provider"], job.params["model"])
    if not changes.move(
        job.pk, JobState.RUNNING, event="sent", now=now, provider=offer.provider, model=offer.model
    ):
        return None
    call = calls.open_call(work=work_of(job.pk), offer=offer, now=now)
    if call is None:
        transaction.set_rollback(True)
    return call


def _request_of(job: Job) -> PictureRequest:
    return PictureRequest(
        work=work_of(job.pk),
        model=job.params["model"],
        prompt=job.prompt,
        aspect_ratio=job.params.get("aspect_ratio", "1:1"),
        fault=job.params.get("fault", ""),
    )


def _submit(call: Call, request: PictureRequest) -> Submitted:
    try:
        return provider_named(call.provider).submit(request, send_by=call.send_by)
    except Exception as exc:  # after the row is committed only evidence may call it rejected
        log.exception("Adapter %s raised while sending call %s", call.provider, call.pk)
        return Unknown(Why("transport", rule="adapter_raised", text=type(exc).__name__))


def _follow_lost_sender(lease: StageLease, call: Call) -> None:
    """Another process opened this call and never reported. It may have sent the request."""
    now = timezone.now()
    if now < call.answer_by and not holders.is_surely_dead(lease.previous_holder):
        leases.release(lease, due_at=call.answer_by)
        return
    outcomes.apply(call, Unknown(Why("transport", rule="sender_lost")), now)
    leases.release(lease, due_at=_next_look(call))


def _next_look(call: Call) -> datetime:
    """News comes by the poller; this is only the backstop behind it."""
    return max(call.deadline_at, timezone.now() + LOOK_AGAIN)


def _through_outage(write: Callable[[], object]) -> None:
    """Try again while the database is away: what is in our hands now is known nowhere else."""
    until = time.monotonic() + OUTAGE_PATIENCE.total_seconds()
    while True:
        try:
            write()
            return
        except OUTAGES as exc:
            if time.monotonic() >= until:
                raise
            log.warning("Database away (%s): holding on to an answer", type(exc).__name__)
            connection.close()
            time.sleep(1)


def save(lease: StageLease) -> None:
    """Fetch what was paid for and deliver it; the download alone is repeated, never the run."""
    call = _paid_call(lease)
    fetched: list[tuple[Picture, bytes]] = []
    origins = provider_named(call.provider).result_origins()
    for position, artifact in enumerate(calls.artifacts_of(call)):
        got = download.fetch(artifact, own_origins=origins)
        if isinstance(got, download.Refused):
            outcomes.end_unfetched(lease, timezone.now(), code=got.why)
            return
        if isinstance(got, download.NotFetched):
            _fetch_later(lease, call, got)
            return
        fetched.append((_picture_of(lease.stage.job_id, position, got), got.content))
    faultpoints.reach("result_fetched")
    if not _write_files(lease, fetched):
        return
    faultpoints.reach("picture_written")
    _through_outage(
        lambda: outcomes.deliver(lease, [picture for picture, _ in fetched], timezone.now())
    )
    faultpoints.reach("picture_delivered")


def _paid_call(lease: StageLease) -> Call:
    """The call whose result this is: succeeded, or given up and made after all."""
    made = Call.objects.of_work(work_of(lease.stage.job_id))
    found = made.filter(state=CallState.SUCCEEDED).last()
    return found or made.get(late_outcome=CallState.SUCCEEDED)


def _fetch_later(lease: StageLease, call: Call, got: download.NotFetched) -> None:
    now = timezone.now()
    made_at = call.late_at or call.ended_at or now
    lives = settings.FETCH_GONE_AFTER if got.gone else settings.RESULT_RETENTION
    if now >= made_at + lives:
        outcomes.end_unfetched(lease, now, code=got.why)
        return
    tries = lease.stage.job.events.filter(name="fetch_failed").count()
    delay = FETCH_DELAYS[min(tries, len(FETCH_DELAYS) - 1)]
    due_at = min(now + timedelta(seconds=delay), made_at + lives)
    if leases.release(lease, due_at=due_at):
        changes.note(lease.stage.job_id, event="fetch_failed", now=now, why=got.why)


def _write_files(lease: StageLease, fetched: list[tuple[Picture, bytes]]) -> bool:
    """False when the disk refuses; the result stays with the provider and is fetched again."""
    try:
        for picture, content in fetched:
            _write_file(Path(settings.MEDIA_ROOT) / picture.file, content)
    except OSError as exc:
        log.error("A picture cannot be stored: %s", exc.strerror)
        now = timezone.now()
        if leases.release(lease, due_at=now + STORE_AGAIN):
            changes.note(lease.stage.job_id, event="store_failed", now=now)
        return False
    return True


def _picture_of(job_id: uuid.UUID, position: int, got: download.Fetched) -> Picture:
    return Picture(
        job_id=job_id,
        position=position,
        file=f"pictures/{job_id.hex[:2]}/{job_id.hex}-{position}.{got.extension}",
        media_type=got.media_type,
        width=got.width,
        height=got.height,
        size=len(got.content),
        sha256=hashlib.sha256(got.content).hexdigest(),
        created_at=timezone.now(),
    )


def _write_file(path: Path, content: bytes) -> None:
    """Whole or not at all, also after a power cut: the row that names it is committed after."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        _sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """A new name is on the disk once its folder is. A file system that cannot is left at that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
