"""The stage `save`: fetch what was paid for, store it, deliver it. The run is never repeated.

    room on the disk? -> newest addresses -> download -> what is it?
                                               picture     -> stored, delivered
                                               unreadable  -> kept, in doubt for staff
                                               not fetched -> later, from the newest addresses
                                               refused     -> made, but could not be fetched

Good results are delivered even if others of the same run are not. Every try after the first polls
the provider again: its newest answer may have a fresh address, or be one that we can read.
"""

import hashlib
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from jobs import outcomes, poll_answers
from jobs.core import faultpoints, leases, transitions
from jobs.core.events import EventName
from jobs.core.leases import StageLease
from jobs.core.models import Event, Picture, Stage
from jobs.core.outages import outlast
from jobs.files import media, storing
from jobs.files.storing import NoRoom, store
from jobs.pictures import follow, unread
from providers.adapters.registry import is_known, list_result_origins, result_retention
from providers.adapters.run_queries import poll_run
from providers.calls import interim, result_files
from providers.calls import ledger as calls
from providers.calls.models import Call, CallResult
from providers.outcomes import Artifact, Cause, Done, Failed, NoAnswer, NoOutput, PollResult
from providers.reasons import Reason
from providers.routing import poll_pauses
from providers.wire import download
from providers.wire.download import DownloadRefused, Got, NotFetched
from providers.wire.picture_files import Fetched, Unreadable, read_picture
from quotas import alerts
from quotas.models import AlertKind

log = logging.getLogger(__name__)

FETCH_DELAYS = (5, 15, 60, 300, 1800)
STORE_DELAYS = (10, 20, 40, 80, 160, 300, 600)
# An unreadable result is polled again after as long as it has been unreadable.
UNREAD_LEAST = timedelta(seconds=15)
UNREAD_MOST = timedelta(hours=6)


@dataclass
class History:
    """What earlier runs of the stage left behind."""

    fetch_failures: int = 0
    store_failures: int = 0
    cut: set[str] = field(default_factory=set)
    needs: int = storing.LEAST_ROOM
    draft: str = ""
    draft_sha256: str = ""
    unread_since: datetime | None = None

    @property
    def is_first(self) -> bool:
        return not (self.fetch_failures or self.store_failures or self.unread_since)


@dataclass
class Results:
    """What one run fetched, by what is to become of it."""

    pictures: list[Fetched] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    missing: list[NotFetched] = field(default_factory=list)
    refused: list[DownloadRefused] = field(default_factory=list)
    answer_unread: bool = False
    """The answer that they are from lists something that we cannot read."""

    def add(self, got: Got) -> None:
        match got:
            case Fetched():
                self.pictures.append(got)
            case Unreadable():
                self.unreadable.append(got)
            case NotFetched():
                self.missing.append(got)
            case DownloadRefused():
                self.refused.append(got)


def save(lease: StageLease) -> None:
    call, job = lease.stage.call, lease.stage.job
    assert call, "a save stage is of a call"
    if job.result_deleted_at:
        leases.finish(lease, timezone.now())
        return
    history = _history_of(lease.stage, call)
    try:
        storing.check_room(history.needs)
        results = _bring(job.pk, call, history)
        faultpoints.reach("result_fetched")
        rows = _store(job.pk, call, results)
    except NoRoom as exc:
        _wait_for_room(lease, call, exc, history)
        return
    faultpoints.reach("picture_written")
    outlast(lambda: _conclude(lease, call, results, rows, history))
    faultpoints.reach("picture_delivered")
    media.remove([history.draft] if history.draft else [])
    _drop_kept(lease, call)


def _drop_kept(lease: StageLease, call: Call) -> None:
    """Once the stage has ended with a picture, the bytes in the ledger's files are not needed."""
    is_delivered = Picture.objects.filter(call=call).exists()
    if is_delivered and not Stage.objects.unfinished().filter(pk=lease.stage.pk).exists():
        results = CallResult.objects.filter(call=call).with_file()
        media.remove(result_files.forget_files(list(results)))


def wake_where_room_is(now: datetime) -> None:
    """What waits for room is due as soon as there is some; nothing is downloaded to find out."""
    waiting = Stage.objects.unfinished().filter(name="save", waiting_since__isnull=False)
    jobs = list(waiting.values_list("job_id", flat=True)[:200])
    if not jobs:
        return
    failures = Event.objects.filter(job__in=jobs, name=EventName.STORE_FAILED).order_by("pk")
    # The last of each job: the size is not known before the first.
    facts_of = dict(failures.values_list("job_id", "facts"))
    sizes = {job: facts_of.get(job, {}).get("size", storing.LEAST_ROOM) for job in jobs}
    room = storing.most_room(sizes.values())
    fitting = [job for job, size in sizes.items() if size <= room]
    free = waiting.filter(lease_token=None, job__in=fitting)
    free.update(due_at=now, woken_at=None, waiting_since=None)


def _bring(job_id: uuid.UUID, call: Call, history: History) -> Results:
    results = Results()
    if content := _content_of_draft(call, history):
        results.add(content)
        return results
    artifacts = result_files.read_rows(call)
    results.answer_unread = unread.find_kept(call).filter(kind="answer", resolved_at=None).exists()
    has_polled = not artifacts or not history.is_first
    if has_polled:
        artifacts = _newest(job_id, call, results)
    got = [_fetch(call, artifact, history) for artifact in artifacts]
    if not has_polled and any(map(_may_have_newer_address, got)):
        newest = _newest(job_id, call, results)
        if newest != artifacts:
            got = [_fetch(call, artifact, history) for artifact in newest]
    for each in got:
        results.add(each)
    return results


def _may_have_newer_address(got: Got) -> bool:
    """The host does not serve this one, or it leads to a place where nothing is fetched, such as a
    page to sign in."""
    if isinstance(got, DownloadRefused):
        return got.why != "too_large"
    return isinstance(got, NotFetched) and got.expired


def _fetch(call: Call, artifact: Artifact, history: History) -> Got:
    if artifact.file:
        content = media.read(artifact.file)
        if content is None:
            got: Got = NotFetched("gone", expired=True)
        else:
            got = download.read_kept(content, is_encoded=artifact.is_encoded)
        if isinstance(got, Fetched) or not artifact.url:
            return got
    return download.fetch(
        artifact,
        own_origins=list_result_origins(call.provider),
        seen=frozenset(history.cut),
        make_room=storing.check_room,
    )


def _content_of_draft(call: Call, history: History) -> Got | None:
    """The one picture of the call, stored whole by an earlier run that could not name it."""
    if not history.draft or len(result_files.read_rows(call)) != 1:
        return None
    content = storing.read_draft(history.draft, history.draft_sha256)
    got = read_picture(content) if content else None
    return got if isinstance(got, Fetched) else None


def _newest(job_id: uuid.UUID, call: Call, results: Results) -> list[Artifact]:
    """By the provider's newest answer, which is free; or as far as it was known before."""
    now = timezone.now()
    if call.provider in poll_pauses.paused_until(now):
        return result_files.read_rows(call)
    answer = _poll(call)
    poll_answers.follow(call.provider, answer, polled_at=now, now=timezone.now())
    if isinstance(answer, Failed):
        outcomes.apply(call, answer, now, follow.follower_of)
    elif isinstance(answer, Done):
        interim.note_cost(call, answer.cost)
        results.answer_unread = bool(answer.unread)
        if answer.unread:
            unread.keep_answer(job_id, call, answer.unread, now)
        return calls.renew(call, result_files.keep_inline(call, answer.artifacts, store), now)
    elif isinstance(answer, NoOutput):
        interim.note_cost(call, answer.cost)
    elif isinstance(answer, NoAnswer):
        calls.note_answer(call, f"no answer: {answer.why.code or answer.why.text}")
    return result_files.read_rows(call)


def _poll(call: Call) -> PollResult:
    if not call.reference or not is_known(call.provider):
        return NoAnswer(Cause(Reason.CONFIG, text="cannot be asked for"))
    try:
        return poll_run(call.provider, call.reference, call.model)
    except Exception as exc:  # an adapter's fault must not end the stage
        log.exception("Adapter %s raised while polling call %s", call.provider, call.pk)
        return NoAnswer(Cause(Reason.TRANSPORT, text=type(exc).__name__))


def _store(job_id: uuid.UUID, call: Call, results: Results) -> list[Picture]:
    """Raises NoRoom. What was delivered of this call before is not delivered again."""
    had = set(Picture.objects.filter(call=call).values_list("sha256", flat=True))
    rows = []
    for got in results.pictures:
        row = build_picture_row(job_id, call, got)
        if row.sha256 not in had:
            storing.store(row.file, got.content)
            rows.append(row)
            had.add(row.sha256)
    now = timezone.now()
    for bad in results.unreadable:
        unread.keep(job_id, call, "file", bad.content, bad.why, now)
    return rows


def _conclude(
    lease: StageLease, call: Call, results: Results, rows: Sequence[Picture], history: History
) -> None:
    now = timezone.now()
    ends_at = (call.late_at or call.ended_at or now) + result_retention(call.provider)
    is_over = now >= ends_at
    later = min(now + _fetch_delay(history), ends_at)
    if results.pictures or Picture.objects.filter(call=call).exists():
        rest_at = later if results.missing and not is_over else None
        all_read = not (results.unreadable or results.answer_unread)
        if _deliver(lease, rows, now, rest_at=rest_at, all_read=all_read) and rest_at:
            _note_failure(lease, call, results, now)
    elif is_over:
        follow.end_unfetched(lease, now, code=_code(results))
    elif results.unreadable or not (results.missing or results.refused):
        follow.hold_unread(lease, now, due_at=min(_unread_again(history, now), ends_at))
    elif results.missing:
        if leases.release(lease, due_at=later):
            _note_failure(lease, call, results, now)
    else:
        follow.end_unfetched(lease, now, code=_code(results))


def _deliver(
    lease: StageLease,
    rows: Sequence[Picture],
    now: datetime,
    *,
    rest_at: datetime | None,
    all_read: bool,
) -> bool:
    if rows:
        return follow.deliver(lease, rows, now, rest_at=rest_at, all_read=all_read)
    if rest_at:
        return leases.release(lease, due_at=rest_at)
    return leases.finish(lease, now)


def _note_failure(lease: StageLease, call: Call, results: Results, now: datetime) -> None:
    hashes = [missing.sha256 for missing in results.missing if missing.sha256]
    facts: dict[str, object] = {"why": results.missing[0].why, "call": call.pk}
    if hashes:
        facts["sha256"] = hashes
    transitions.record_event(lease.stage.job_id, event=EventName.FETCH_FAILED, now=now, **facts)


def _wait_for_room(lease: StageLease, call: Call, exc: NoRoom, history: History) -> None:
    """Growing pauses, and nothing is fetched before there is room."""
    log.error("A picture cannot be stored: %s", exc)
    now = timezone.now()
    step = min(history.store_failures, len(STORE_DELAYS) - 1)
    due_at = now + timedelta(seconds=STORE_DELAYS[step])
    facts: dict[str, object] = {"call": call.pk, "size": max(exc.size, history.needs)}
    if exc.draft or history.draft:
        facts["draft"] = exc.draft or history.draft
        facts["sha256"] = exc.sha256 or history.draft_sha256
    since = lease.stage.waiting_since or now
    if leases.wait_for_room(lease, since=since, due_at=due_at):
        transitions.record_event(lease.stage.job_id, event=EventName.STORE_FAILED, now=now, **facts)
        alerts.open_alert(kind=AlertKind.STORAGE, subject="pictures", words=str(exc), now=now)


def _history_of(stage: Stage, call: Call) -> History:
    history = History()
    events = stage.job.events.filter(
        name__in=[EventName.FETCH_FAILED, EventName.STORE_FAILED]
    ).order_by("pk")
    for name, facts in events.values_list("name", "facts"):
        if facts.get("call", call.pk) != call.pk:
            continue
        if name == EventName.FETCH_FAILED:
            history.fetch_failures += 1
            history.cut.update(facts.get("sha256", []))
        else:
            history.store_failures += 1
            history.needs = facts.get("size", history.needs)
            history.draft = facts.get("draft", "")
            history.draft_sha256 = facts.get("sha256", "")
    first = unread.find_kept(call).first()
    history.unread_since = first.created_at if first else None
    return history


def _fetch_delay(history: History) -> timedelta:
    return timedelta(seconds=FETCH_DELAYS[min(history.fetch_failures, len(FETCH_DELAYS) - 1)])


def _unread_again(history: History, now: datetime) -> datetime:
    age = now - (history.unread_since or now)
    return now + min(max(age, UNREAD_LEAST), UNREAD_MOST)


def _code(results: Results) -> str:
    bad: list[DownloadRefused | NotFetched | Unreadable]
    bad = [*results.refused, *results.missing, *results.unreadable]
    return bad[0].why if bad else "unread"


def build_picture_row(job_id: uuid.UUID, call: Call, got: Fetched) -> Picture:
    """Its position among the job's pictures is given when it is delivered. The file of each run has
    a name of its own: a run that slept past its lease overwrites no picture that was delivered, and
    what a dead run left behind is never written again while housekeeping removes it."""
    picture_id = uuid.uuid4()
    return Picture(
        pk=picture_id,
        job_id=job_id,
        call=call,
        file=f"{storing.PICTURES}/{job_id.hex[:2]}/{job_id.hex}-{picture_id.hex}.{got.extension}",
        media_type=got.media_type,
        width=got.width,
        height=got.height,
        size=len(got.content),
        sha256=hashlib.sha256(got.content).hexdigest(),
        created_at=timezone.now(),
    )
