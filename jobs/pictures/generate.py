"""The image pipeline: reserved -> sent -> generating -> saving -> ready, in two stages.

`generate` opens the call, sends once and waits for news; `save` (`saving`) fetches the paid
result and delivers it. Both look at the rows first, so that running one again pays nothing again.
"""

import logging
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from jobs import outcomes
from jobs.core import transitions
from jobs.core.models import Job
from jobs.core.states import JobState
from jobs.core.works import calls_of, chosen_offer, fault_at
from jobs.engine import faultpoints, holders, leases
from jobs.engine.leases import StageLease
from jobs.engine.outages import OUTAGES, outlast
from providers.adapters.base import PictureRequest
from providers.adapters.registry import Offer
from providers.calls import ledger as calls
from providers.calls.models import Call
from providers.calls.outcomes import Cause, Submitted, Unknown
from providers.calls.states import CallState
from providers.routing import gates, pool
from providers.routing.gates import Closed
from providers.routing.pool import Candidate
from providers.submits import send_request
from providers.webhooks import store
from providers.wire import retry_after

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(hours=1)


def generate(lease: StageLease) -> None:
    """Send once, or look at what became of the call that was sent."""
    assert lease.stage.work, "a stage that sends has a work"
    call = calls.find_live_call(lease.stage.work)
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
    past = list(calls_of(job.pk))
    closed = []
    for candidate in pool.candidates(chosen_offer(job), past):
        if candidate.not_before and _is_ahead(candidate.not_before, now):
            closed.append(Closed("rate", candidate.not_before))
            continue
        because = closed[0].why if closed else candidate.after.why if candidate.after else ""
        opened = _open(lease, candidate, because, now)
        if isinstance(opened, Call):
            return opened
        closed.append(opened)
    return closed


def _is_ahead(moment: datetime, now: datetime) -> bool:
    """False also if it is further ahead than any stated wait: the clock was set back since."""
    longest = max(timedelta(seconds=retry_after.LONGEST), settings.ERROR_PAUSE)
    return now < moment <= now + longest


@transaction.atomic
def _open(lease: StageLease, candidate: Candidate, because: str, now: datetime) -> Call | Closed:
    """The job from queued to running and the call's row, together: or cancelled, and neither."""
    offer, job_id, work = candidate.offer, lease.stage.job_id, lease.stage.work or ""
    facts = {"provider": offer.provider, "model": offer.model}
    if candidate.rule:
        facts["because"] = because
    if not leases.is_held(lease) or not transitions.apply(
        job_id, JobState.RUNNING, event="sent", now=now, **facts
    ):
        return Closed("wall", now)
    opened = gates.enter(work=work, candidate=candidate, now=now)
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
        hook_url=store.address_of(call),
    )


def _submit(call: Call, request: PictureRequest) -> Submitted:
    try:
        return send_request(
            call.provider, request, send_by=call.send_by, note_id=partial(_note_id, call.pk)
        )
    except Exception as exc:  # after the row is committed only evidence may call it rejected
        log.exception("Adapter %s raised while sending call %s", call.provider, call.pk)
        return Unknown(Cause("transport", rule="adapter_raised", text=type(exc).__name__))


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
    outcomes.apply(call, Unknown(Cause("transport", rule="sender_lost")), now)
    leases.release(lease, due_at=_next_look(call))


def _next_look(call: Call) -> datetime:
    """News comes by the poller; this is only the backstop behind it."""
    return max(call.deadline_at, timezone.now() + LOOK_AGAIN)
