"""Sends the request of a stage's work, once, for any kind of job.

    open somewhere ─> ┌ job, gate, call `sending` ┐ committed
                      └───────────────────────────┘
      the request: connect, check the clock, write, read          no transaction is open here
                      ┌ what the answer proved, and what follows for stage, job and attempt ┐
                      └──────────────────────────────────────────────────── jobs/outcomes.py ┘

A provider answers with the id of a run, which the ticker polls, or with the result itself. The
stage looks at the rows first, so that running it again pays nothing again.
"""

import logging
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from jobs import outcomes
from jobs.core import faultpoints, holders, leases
from jobs.core.leases import StageLease
from jobs.core.models import Job
from jobs.core.outages import OUTAGES, outlast
from jobs.engine import incoming
from jobs.kinds import Kind, Sends
from providers.adapters.base import Request
from providers.adapters.submits import send_request
from providers.calls import ledger as calls
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.outcomes import Cause, Submitted, Unknown
from providers.reasons import Reason, Rule
from providers.routing import gates
from providers.routing.gates import Blocked
from providers.routing.pool import Candidate
from providers.wire import retry_after

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(hours=1)


class NotAllowed(Exception):
    """The job or the stage has ended, or another process holds the stage."""


def run(lease: StageLease, kind: Kind, step: Sends) -> None:
    """Send once, or follow up the call that was sent."""
    assert lease.stage.work, "a stage that sends has a work"
    call = calls.find_live_call(lease.stage.work)
    if call is None:
        _open_and_send(lease, kind, step)
    elif call.state == CallState.SENDING:
        _follow_lost_sender(lease, call)
    else:
        leases.release(lease, due_at=_next_look(call))


def _open_and_send(lease: StageLease, kind: Kind, step: Sends) -> None:
    try:
        opened = _open_somewhere(lease, kind, timezone.now())
    except NotAllowed:
        # If another process ended the stage, its lease is free; otherwise it is processed again.
        leases.release(lease, due_at=timezone.now() + LOOK_AGAIN)
        return
    if isinstance(opened, Call):
        _send(lease, opened, step)
    elif not opened:
        outcomes.fail_unanswerable(lease, timezone.now(), kind.follower)
    elif any(closed.why == "wall" for closed in opened):
        leases.release(lease, due_at=timezone.now() + LOOK_AGAIN)
    else:
        outcomes.wait_a_turn(lease, opened, timezone.now(), kind.follower)


def _send(lease: StageLease, call: Call, step: Sends) -> None:
    faultpoints.reach("call_committed")
    answer = _submit(call, step.request(lease.stage, call))
    faultpoints.reach("submit_answered")
    outlast(lambda: incoming.follow_submit(call, answer, timezone.now()))
    faultpoints.reach("submit_recorded")
    leases.release(lease, due_at=call.deadline_at)


def _open_somewhere(lease: StageLease, kind: Kind, now: datetime) -> Call | list[Blocked]:
    """The call at the first provider that accepts it, or why each of them does not."""
    job, stage = lease.stage.job, lease.stage
    past = list(Call.objects.of_work(stage.work or ""))
    blocked = []
    for candidate in kind.follower.candidates(job, stage, past):
        if candidate.not_before and _is_ahead(candidate.not_before, now):
            blocked.append(Blocked(Reason.RATE, candidate.not_before))
            continue
        because = blocked[0].why if blocked else candidate.after.why if candidate.after else ""
        opened = _open(lease, kind, candidate, because, now)
        if isinstance(opened, Call):
            return opened
        blocked.append(opened)
    return blocked


def _is_ahead(moment: datetime, now: datetime) -> bool:
    """False also if it is further ahead than any stated wait: the clock was set back since."""
    longest = max(timedelta(seconds=retry_after.LONGEST), settings.ERROR_PAUSE)
    return now < moment <= now + longest


@transaction.atomic
def _open(
    lease: StageLease, kind: Kind, candidate: Candidate, because: str, now: datetime
) -> Call | Blocked:
    """The job's state and the call's row, together: or cancelled, and neither. `Blocked("wall")`
    means that the work has another live or paid call."""
    offer = candidate.offer
    facts = {"provider": offer.provider, "model": offer.model}
    if candidate.rule:
        facts["because"] = because
    job = Job.objects.select_for_update().get(pk=lease.stage.job_id)
    if not leases.is_held(lease) or not kind.follower.open(job, now, **facts):
        raise NotAllowed
    opened = gates.enter(work=lease.stage.work or "", candidate=candidate, now=now)
    if isinstance(opened, Blocked):
        transaction.set_rollback(True)
    return opened


def _submit(call: Call, request: Request) -> Submitted:
    try:
        return send_request(
            call.provider, request, send_by=call.send_by, note_id=partial(_note_id, call.pk)
        )
    except Exception as exc:  # after the row is committed only evidence may call it rejected
        log.exception("Adapter %s raised while sending call %s", call.provider, call.pk)
        return Unknown(Cause(Reason.TRANSPORT, rule=Rule.ADAPTER_RAISED, text=type(exc).__name__))


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
    incoming.apply(call, Unknown(Cause(Reason.TRANSPORT, rule=Rule.SENDER_LOST)), now)
    leases.release(lease, due_at=_next_look(call))


def _next_look(call: Call) -> datetime:
    """News comes by the poller; this is only the backstop behind it."""
    return max(call.deadline_at, timezone.now() + LOOK_AGAIN)
