"""Give the slot of a call in doubt back."""

from datetime import datetime

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.core.models import ActionName, Job
from jobs.core.reasons import JobReason
from jobs.core.states import JobState
from jobs.engine import incoming
from jobs.kinds import kind_of
from jobs.staff.actions import guards
from jobs.staff.actions.base import (
    ActionRefused,
    Decision,
    entry_about_call,
    find_job,
    lock_call,
    overtaken,
    refuse_if,
)
from jobs.staff.actions.page import ActionPage, back_to_call, handle, requires
from jobs.staff.actions.tables import estimate, moment, table_of_calls
from jobs.words import wording
from providers.calls.models import Call
from providers.calls.states import EVIDENCE, CallState
from providers.reasons import Rule
from quotas.days import utc_day

PERMISSION = "jobs.give_slot_back"


def why_not(call: Call, job: Job | None, now: datetime) -> str:
    if job is not None and job.state == JobState.IN_DOUBT and job.reason == JobReason.UNREAD:
        return guards.why_job_is_settled(job)
    return (
        _why_call_is_decided(call, now)
        or guards.why_job_is_settled(job)
        or ("" if call.is_in_doubt(now) else _in_time(call, now))
    )


def preview(call: Call, job: Job | None, now: datetime) -> list[str]:
    lines = [_slot(job, now)]
    if job:
        words = kind_of(job).words.reason_in_words(JobReason.GIVEN_BACK)
        lines.append(_("The job ends as Failed. The user reads: %(words)s") % {"words": words})
    if call.state == CallState.SUCCEEDED:
        return [
            *lines,
            _(
                "The call keeps its cost. We keep the received files, and you can deliver them"
                " later."
            ),
            _("You cannot undo this."),
        ]
    return [
        *lines,
        _("We give up the call. It counts as possibly charged: %(estimate)s.")
        % {"estimate": estimate(call)},
        _("We keep checking it until %(time)s.") % {"time": moment(call.give_up_at)},
        _("If the picture comes, we deliver it without using a slot."),
        _("You cannot undo this."),
    ]


@transaction.atomic
def run(call_id: int, decision: Decision) -> None:
    call, job = lock_call(call_id)
    refuse_if(why_not(call, job, decision.now))
    if job is None or not incoming.give_back(call, decision.now):
        raise ActionRefused(overtaken())
    attempt = job.attempt
    slot = {"slot": attempt.slot, "day": str(attempt.day)} if attempt else {}
    entry_about_call(ActionName.GIVE_BACK, decision, call, job, slot).save()


@requires("providers.view_call", PERMISSION)
def page(request: HttpRequest, pk: int) -> HttpResponse:
    now = timezone.now()
    call = get_object_or_404(Call, pk=pk)
    job = find_job(call)
    action = ActionPage(
        title=_("Give the slot back"),
        yes=_("Give the slot back"),
        known=table_of_calls([call], now),
        will=preview(call, job, now),
        refused=why_not(call, job, now),
        back=back_to_call(call),
    )

    def give_back(decision: Decision, data: dict[str, str]) -> str:
        run(pk, decision)
        return _("The slot was given back.")

    return handle(request, action, give_back)


def _why_call_is_decided(call: Call, now: datetime) -> str:
    if call.state in EVIDENCE:
        return guards.how_it_ended(call)
    if call.state == CallState.GIVEN_UP:
        if call.rule == Rule.GIVEN_BACK:
            return _("This slot has already been given back.")
        return _(
            "We gave up the call at the end of its retention. To give another slot, add a grant."
        )
    return guards.being_sent(call, now) if call.state == CallState.SENDING else ""


def _in_time(call: Call, now: datetime) -> str:
    return _("This call is not in doubt. The provider accepted it and has until %(time)s.") % {
        "time": wording.moment_in_words(call.deadline_at, now)
    }


def _slot(job: Job | None, now: datetime) -> str:
    attempt = job.attempt if job else None
    if attempt is None:
        return ""
    slot = {"slot": attempt.slot, "day": wording.day_in_words(attempt.day)}
    text = _("The attempt for slot %(slot)s of %(day)s ends as failed. This is final.") % slot
    if attempt.day == utc_day(now):
        return f"{text} " + _("The slot is given back now.")
    return f"{text} " + _("That day is over. To give a slot for today, add a grant.")
