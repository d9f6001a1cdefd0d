"""What staff may decide about calls and slots, each with a reason and an entry that stays.

    check_now ──> the call is looked at at once, also after its end
    give_back ──> attempt failed, job failed, call given up and still pursued
    attach ─────> a lost call has its id, and is polled like any other
    deliver ────> what could not be read, or a picture in its place, is given to its person
    grant, revoke ──> extra slots of one day
    resume ─────> a stage that was set aside is run at once
    pause, let_in ─> a provider is sent nothing new, until requests are let in again

A decision is no evidence: it ends no call as failed and no run. Each is one transaction, that about
a call or a job under the job's lock, and its entry is written in it; what the state forbids raises
Refused, and nothing is changed.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs.core import leases, queue, transitions
from jobs.core.models import Deed, Job, Picture, StaffAction
from jobs.core.works import job_ids_by_work
from jobs.engine import incoming
from jobs.pictures import follow, unread
from jobs.staff.action_guards import (
    why_not_attached,
    why_not_checked,
    why_not_delivered,
    why_not_given_back,
    why_not_let_in,
    why_not_paused,
    why_not_resumed,
    why_not_taken,
)
from providers.calls import ledger
from providers.calls.models import Call, Gate
from providers.calls.outcomes import Accepted
from providers.routing import gates
from providers.webhooks import store
from quotas.models import Grant


class Refused(Exception):
    """The state forbids it; the words are for staff."""


@dataclass(frozen=True)
class Decision:
    """Who decides, why and when."""

    by: User
    reason: str
    now: datetime


@transaction.atomic
def check_now(call_ids: Sequence[int], decision: Decision) -> int:
    """How many are looked at; those of which nothing can be asked are left alone. Raises Refused
    where that leaves none."""
    # The jobs are locked first, as by whoever brings news: two would wait for each other.
    jobs = _locked_jobs(call_ids)
    calls = list(Call.objects.filter(pk__in=call_ids).order_by("pk"))
    refusals = refusals_to_check(calls, decision.now)
    asked = [call for call in calls if not refusals[call.pk]]
    if not asked:
        raise Refused(next(iter(refusals.values()), _("No call was chosen.")))
    ledger.poll_now([call.pk for call in asked], decision.now)
    made = [call.pk for call in asked if call.was_made]
    for stage_id in leases.save_now(made, decision.now) if made else ():
        queue.enqueue_after_commit(stage_id)
    entries = [_entry(Deed.CHECK, decision, call=call, job=jobs.get(call.work)) for call in asked]
    StaffAction.objects.bulk_create(entries)
    return len(asked)


@transaction.atomic
def give_back(call_id: int, decision: Decision) -> None:
    call, job = _locked(call_id)
    _refuse(why_not_given_back(call, job, decision.now))
    if job is None or not incoming.give_back(call, decision.now):
        raise Refused(_overtaken())
    slot = _slot_of(job)
    _entry(Deed.GIVE_BACK, decision, call=call, job=job, facts=slot).save()


@transaction.atomic
def attach(call_id: int, reference: str, decision: Decision, **seen: str) -> None:
    """Polled like any other from here on: a run that is unknown becomes accepted, and of a call
    that had ended the truth is learned late. What was seen of the id before (`reference_lookup`)
    stays with the entry."""
    call, job = _locked(call_id)
    _refuse(why_not_attached(call, job) or why_not_taken(call, reference))
    if job:
        transitions.record_event(job.pk, event="attached", now=decision.now)
    recorded = incoming.apply(call, Accepted(reference), decision.now)
    if recorded.call.reference != reference:
        # Another call was given the same id in this moment.
        raise Refused(why_not_taken(call, reference) or _overtaken())
    facts = {"reference": reference, **seen}
    _entry(Deed.ATTACH, decision, call=call, job=job, facts=facts).save()


@transaction.atomic
def deliver(call_id: int, picture: Picture, decision: Decision, **facts: Any) -> None:
    """`picture` is stored already: where this is refused its file is one that no row names."""
    call, job = _locked(call_id)
    _refuse(why_not_delivered(job, list(unread.kept_of(call))))
    if job is None or not follow.deliver_kept(call, picture, decision.now):
        raise Refused(_overtaken())
    transitions.record_event(job.pk, event="delivered", now=decision.now)
    _entry(Deed.DELIVER, decision, call=call, job=job, facts=facts).save()


@transaction.atomic
def grant(slots: Grant, decision: Decision) -> None:
    """Save a new grant, once a form; who gave it and when is not for the form to say."""
    slots.granted_by, slots.granted_at = decision.by, decision.now
    try:
        with transaction.atomic():
            slots.save()
    except IntegrityError:
        raise Refused(_("This form was sent before: its slots are granted already.")) from None
    _entry_of_grant(Deed.GRANT, slots, decision).save()


@transaction.atomic
def revoke(grant_id: int, decision: Decision) -> None:
    """What is held of it stays held: only the allowance of its day shrinks."""
    slots = Grant.objects.select_related("account").filter(pk=grant_id).first()
    if slots is None or not Grant.objects.filter(pk=grant_id).delete()[0]:
        raise Refused(_("The grant had been taken back already."))
    _entry_of_grant(Deed.REVOKE, slots, decision).save()


@transaction.atomic
def resume(job_ids: Sequence[uuid.UUID], decision: Decision) -> int:
    """How many go on; those of which nothing was set aside are left alone. Raises Refused where
    that leaves none. The starts they had stay counted."""
    jobs = Job.objects.filter(pk__in=job_ids).select_for_update().order_by("pk")
    resumed = []
    for job in jobs:
        stages = leases.resume(job.pk, decision.now)
        if not stages:
            continue
        resumed.append(job)
        transitions.record_event(job.pk, event="resumed", now=decision.now)
        for stage_id in stages:
            queue.enqueue_after_commit(stage_id)
    if not resumed:
        raise Refused(why_not_resumed(None) if job_ids else _("No job was chosen."))
    StaffAction.objects.bulk_create(_entry_of_job(Deed.RESUME, job, decision) for job in resumed)
    return len(resumed)


@transaction.atomic
def pause(provider: str, decision: Decision) -> None:
    """Nothing new is sent to it, until staff let requests in again."""
    _refuse(why_not_paused(gates_of(provider)))
    if not gates.pause(provider, decision.now):
        raise Refused(_overtaken())
    _entry_of_provider(Deed.PAUSE, provider, decision).save()


@transaction.atomic
def let_in(provider: str, decision: Decision) -> None:
    """Whoever had shut it or one of its models, staff or its own answers."""
    _refuse(why_not_let_in(gates_of(provider)))
    if not gates.let_in(provider):
        raise Refused(_overtaken())
    _entry_of_provider(Deed.LET_IN, provider, decision).save()


def gates_of(provider: str) -> list[Gate]:
    """Its own first, then those of its models; none where it was never shut nor asked."""
    return list(Gate.objects.filter(provider=provider).order_by("model"))


def job_of(call: Call) -> Job | None:
    """None for a call that is no job's."""
    return Job.objects.of_work(call.work).select_related("attempt", "account").first()


def refusals_to_check(calls: Sequence[Call], now: datetime) -> dict[int, str]:
    """By call, why it cannot be asked about; the empty string where it can."""
    named = store.ids_named_for(calls)
    return {call.pk: why_not_checked(call, named.get(call.pk, []), now) for call in calls}


def _locked(call_id: int) -> tuple[Call, Job | None]:
    """The call as it stands once its job is locked, as by whoever brings news."""
    call = Call.objects.get(pk=call_id)
    job = Job.objects.of_work(call.work).select_for_update().first()
    call.refresh_from_db()
    return call, job


def _locked_jobs(call_ids: Sequence[int]) -> dict[str, Job]:
    """By work."""
    calls = Call.objects.filter(pk__in=call_ids)
    ids = job_ids_by_work(list(calls.values_list("work", flat=True)))
    jobs = Job.objects.filter(pk__in=ids.values()).select_for_update().order_by("pk")
    found = {job.pk: job for job in jobs}
    return {work: found[job_id] for work, job_id in ids.items()}


def _slot_of(job: Job) -> dict[str, Any]:
    attempt = job.attempt
    return {"slot": attempt.slot, "day": str(attempt.day)} if attempt else {}


def _entry(
    deed: Deed,
    decision: Decision,
    *,
    call: Call,
    job: Job | None,
    facts: Mapping[str, Any] | None = None,
) -> StaffAction:
    return _entry_about(
        f"call {call.pk} {call.provider}:{call.model} {call.work}",
        deed,
        decision,
        call=call,
        job=job,
        account_id=job.account_id if job else None,
        facts=facts or {},
    )


def _entry_of_job(deed: Deed, job: Job, decision: Decision) -> StaffAction:
    subject = f"job {job.pk}"
    return _entry_about(subject, deed, decision, job=job, account_id=job.account_id)


def _entry_of_grant(deed: Deed, slots: Grant, decision: Decision) -> StaffAction:
    facts = {"slots": slots.slots, "kind": slots.kind, "day": str(slots.day)}
    subject = f"{slots}, {slots.account}"
    return _entry_about(subject, deed, decision, account=slots.account, facts=facts)


def _entry_of_provider(deed: Deed, provider: str, decision: Decision) -> StaffAction:
    gate, _made = Gate.objects.get_or_create(provider=provider, model=gates.WHOLE)
    return _entry_about(f"provider {provider}", deed, decision, gate=gate)


def _entry_about(subject: str, deed: Deed, decision: Decision, **columns: Any) -> StaffAction:
    return StaffAction(
        deed=deed,
        subject=subject[:200],
        reason=decision.reason,
        by=decision.by,
        by_name=decision.by.get_username(),
        at=decision.now,
        **columns,
    )


def _overtaken() -> str:
    return _("Something else happened to it in this moment. Look at it again.")


def _refuse(why: str) -> None:
    if why:
        raise Refused(why)
