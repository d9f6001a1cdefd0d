"""Why a decision of staff is not to be had, in words; the empty string where nothing forbids it.

Pure but for one look for another call with the same id.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.core.models import Job, Stage, UnreadResult
from jobs.core.reasons import JobReason
from jobs.core.states import ENDS, JobState
from jobs.words.wording import moment_in_words
from providers.calls.models import Call, Gate
from providers.calls.outcomes import can_be_asked_for
from providers.calls.reasons import Rule
from providers.calls.states import EVIDENCE, CallState
from providers.recovery import why_not_to_ask
from providers.routing.gates import STAFF
from quotas.states import AttemptState

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

SILENT: dict[str, "StrPromise"] = {
    "no_list": gettext_lazy(
        "It has no provider id, and this provider has no list of its runs to look in."
    ),
    "not_exclusive": gettext_lazy(
        "It has no id of the provider, and the provider's list is not asked for: nobody has said"
        " that nothing else uses the key."
    ),
    "other_key": gettext_lazy(
        "It has no id of the provider, and it was sent with another key than the site has now."
    ),
    "clock": gettext_lazy(
        "It has no id of the provider, and the clock was set back since: it is not known when it"
        " was sent."
    ),
    "restored": gettext_lazy(
        "It has no id of the provider, and the database was restored from a backup: the provider's"
        " list may show runs that are not recorded here."
    ),
}


def why_not_checked(call: Call, named: Sequence[str], now: datetime) -> str:
    """`named` are the ids that webhooks have named for it."""
    if call.state == CallState.SENDING:
        return _sending(call, now)
    if call.reference or len(named) == 1:
        return ""
    if not call.is_lost:
        return _("It has no id of the provider, so nothing can be asked.")
    not_asked = why_not_to_ask(call)
    return str(SILENT[not_asked]) if not_asked else ""


def why_not_given_back(call: Call, job: Job | None, now: datetime) -> str:
    if is_unread(job):
        return _why_not_of_job(job)
    return (
        _why_not_a_decision(call, now)
        or _why_not_of_job(job)
        or ("" if call.is_in_doubt(now) else _in_time(call, now))
    )


def why_not_delivered(job: Job | None, kept: Sequence[UnreadResult]) -> str:
    """`kept` is what came of the call and could not be read."""
    if job is None:
        return _no_job()
    if job.result_deleted_at:
        return _("Its person has deleted the result.")
    is_open = any(result.resolved_at is None for result in kept)
    if not kept or (job.state == JobState.READY and not is_open):
        return _("Nothing of it is kept that could not be read.")
    return ""


def is_unread(job: Job | None) -> bool:
    return job is not None and job.state == JobState.IN_DOUBT and job.reason == JobReason.UNREAD


def why_not_attached(call: Call, job: Job | None) -> str:
    if call.reference:
        return _("It has an id of the provider: %(id)s.") % {"id": call.reference}
    if call.state == CallState.SENDING:
        return _("It is just being sent. If its answer is lost, the id can be attached then.")
    if call.late_outcome or call.state in (CallState.SUCCEEDED, CallState.FAILED):
        return _how_it_ended(call)
    return "" if job else _no_job()


def why_not_taken(call: Call, reference: str) -> str:
    """Of an id that is to be attached."""
    if not can_be_asked_for(reference):
        return _("This cannot be an id of a provider.")
    same = Call.objects.filter(provider=call.provider, reference=reference)
    other = same.exclude(pk=call.pk).first()
    if other is None:
        return ""
    return _("This id is that of another call: number %(number)s, for %(work)s.") % {
        "number": other.pk,
        "work": other.work,
    }


def why_not_resumed(stage: Stage | None) -> str:
    """Of the job's stage that was set aside, if there is one."""
    return "" if stage else _("Nothing of it is set aside.")


def why_not_paused(gates: Sequence[Gate]) -> str:
    is_shut = any(gate.why == STAFF for gate in gates)
    return _("It is paused by staff already.") if is_shut else ""


def why_not_let_in(gates: Sequence[Gate]) -> str:
    is_shut = any(gate.is_paused for gate in gates)
    return "" if is_shut else _("Neither it nor a model of it is paused.")


def _why_not_a_decision(call: Call, now: datetime) -> str:
    if call.state in EVIDENCE:
        return _how_it_ended(call)
    if call.state == CallState.GIVEN_UP:
        if call.rule == Rule.GIVEN_BACK:
            return _("The slot had been given back already.")
        return _("The call was given up at the end of its retention. A grant gives another slot.")
    return _sending(call, now) if call.state == CallState.SENDING else ""


def _why_not_of_job(job: Job | None) -> str:
    if job is None:
        return _no_job()
    if job.state in ENDS:
        return _("The job has ended: %(state)s.") % {"state": JobState(job.state).label}
    if job.attempt is None:
        return _("The job has no slot.")
    if job.attempt.state != AttemptState.PENDING:
        return _("The slot was settled before.")
    return ""


def _how_it_ended(call: Call) -> str:
    outcome = CallState(call.late_outcome or call.state).label
    return _("What became of it is known: %(outcome)s.") % {"outcome": outcome}


def _sending(call: Call, now: datetime) -> str:
    at = moment_in_words(call.answer_by, now)
    return _("It is being sent: its answer is due by %(time)s, and looked at by itself.") % {
        "time": at
    }


def _in_time(call: Call, now: datetime) -> str:
    return _("It is not in doubt: the provider has it, and its time is over at %(time)s.") % {
        "time": moment_in_words(call.deadline_at, now)
    }


def _no_job() -> str:
    return _("It belongs to no job.")
