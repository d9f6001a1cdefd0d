"""The image pipeline: reserved -> sent -> generating -> saving -> ready, in two stages.

`generate` opens the call, sends once and waits for news; `save` fetches the paid result and
delivers it. Both look at the rows first, so that running one again pays nothing again.
"""

import hashlib
import logging
import os
import uuid
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from jobs import changes, faultpoints, holders, leases, outcomes
from jobs.leases import StageLease
from jobs.models import Job, Picture
from jobs.outages import OUTAGES, outlast
from jobs.states import JobState
from jobs.works import chosen_offer, fault_at, job_id_of, work_of
from providers import download, gates, hooks, pool
from providers import ledger as calls
from providers.answers import Submitted, Unknown, Why
from providers.base import PictureRequest
from providers.gates import Closed
from providers.models import Call
from providers.pool import Candidate
from providers.registry import Offer, provider_named, result_origins_of
from providers.states import CallState

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(hours=1)
STORE_AGAIN = timedelta(seconds=10)
FETCH_DELAYS = (5, 15, 60, 300, 1800)


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
    opened = _open_somewhere(lease, timezone.now())
    if isinstance(opened, Call):
        _send(lease, opened)
    elif not opened:
        outcomes.fail_unanswerable(lease.stage.job_id, timezone.now())
    elif any(closed.why == "wall" for closed in opened):
        leases.release(lease, due_at=timezone.now() + LOOK_AGAIN)
    else:
        outcomes.wait_a_turn(lease, opened, timezone.now())


def _send(lease: StageLease, call: Call) -> None:
    faultpoints.reach("call_committed")
    answer = _submit(call, _request_of(lease.stage.job, call))
    faultpoints.reach("submit_answered")
    outlast(lambda: outcomes.follow_submit(call, answer, timezone.now()))
    faultpoints.reach("submit_recorded")
    leases.release(lease, due_at=call.deadline_at)


def _open_somewhere(lease: StageLease, now: datetime) -> Call | list[Closed]:
    """The call at the first provider that lets it in, or why each of them does not."""
    job = lease.stage.job
    past = list(Call.objects.of_work(work_of(job.pk)))
    closed = []
    for candidate in pool.candidates(chosen_offer(job), past):
        if candidate.not_before and now < candidate.not_before:
            closed.append(Closed("rate", candidate.not_before))
            continue
        because = closed[0].why if closed else candidate.after.why if candidate.after else ""
        opened = _open(lease, candidate, because, now)
        if isinstance(opened, Call):
            return opened
        closed.append(opened)
    return closed


@transaction.atomic
def _open(lease: StageLease, candidate: Candidate, because: str, now: datetime) -> Call | Closed:
    """The job from queued to running and the call's row, together: or cancelled, and neither."""
    offer, job_id = candidate.offer, lease.stage.job_id
    facts = {"provider": offer.provider, "model": offer.model}
    if candidate.rule:
        facts["because"] = because
    if not leases.is_held(lease) or not changes.move(
        job_id, JobState.RUNNING, event="sent", now=now, **facts
    ):
        return Closed("wall", now)
    opened = gates.enter(work=work_of(job_id), candidate=candidate, now=now)
    if isinstance(opened, Closed):
        transaction.set_rollback(True)
    return opened


def _request_of(job: Job, call: Call) -> PictureRequest:
    return PictureRequest(
        work=call.work,
        model=call.model,
        prompt=job.prompt,
        aspect_ratio=job.params.get("aspect_ratio", "1:1"),
        fault=fault_at(job, Offer(call.provider, call.model)),
        hook_url=hooks.address_of(call),
    )


def _submit(call: Call, request: PictureRequest) -> Submitted:
    try:
        return provider_named(call.provider).submit(
            request, send_by=call.send_by, note_id=partial(_note_id, call.pk)
        )
    except Exception as exc:  # after the row is committed only evidence may call it rejected
        log.exception("Adapter %s raised while sending call %s", call.provider, call.pk)
        return Unknown(Why("transport", rule="adapter_raised", text=type(exc).__name__))


def _note_id(call_id: int, reference: str) -> None:
    """An id from the first headers, kept before the body is read. Losing it is no reason to lose
    the answer that is being read."""
    try:
        calls.note_early_id(call_id, reference)
    except OUTAGES as exc:
        log.warning("An early id could not be kept: %s", type(exc).__name__)
        connection.close()


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


def save(lease: StageLease) -> None:
    """Fetch what was paid for and deliver it; the download alone is repeated, never the run."""
    call = lease.stage.call
    assert call, "a save stage is of a call"
    fetched: list[tuple[Picture, bytes]] = []
    origins = result_origins_of(call.provider)
    for artifact in calls.artifacts_of(call):
        got = download.fetch(artifact, own_origins=origins)
        if isinstance(got, download.Refused):
            outcomes.end_unfetched(lease, timezone.now(), code=got.why)
            return
        if isinstance(got, download.NotFetched):
            _fetch_later(lease, call, got)
            return
        fetched.append((_picture_of(call, got), got.content))
    faultpoints.reach("result_fetched")
    if not _write_files(lease, fetched):
        return
    faultpoints.reach("picture_written")
    outlast(lambda: outcomes.deliver(lease, [picture for picture, _ in fetched], timezone.now()))
    faultpoints.reach("picture_delivered")


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


def _picture_of(call: Call, got: download.Fetched) -> Picture:
    """Its position among the job's pictures is given when it is delivered. The file of each run has
    a name of its own: whoever slept past the lease writes over no picture that was delivered, and
    what a dead run left behind is never written again while housekeeping removes it."""
    job_id, picture_id = job_id_of(call.work), uuid.uuid4()
    return Picture(
        pk=picture_id,
        job_id=job_id,
        call=call,
        file=f"pictures/{job_id.hex[:2]}/{job_id.hex}-{picture_id.hex}.{got.extension}",
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
