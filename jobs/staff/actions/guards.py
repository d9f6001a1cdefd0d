"""Guards that several actions share: the text why an action is refused, or an empty string."""

from datetime import datetime

from django.utils.translation import gettext as _

from jobs.core.models import Job
from jobs.core.states import ENDS, JobState
from jobs.words.wording import moment_in_words
from providers.calls.models import Call
from providers.calls.states import CallState
from quotas.states import AttemptState


def why_job_is_settled(job: Job | None) -> str:
    if job is None:
        return no_job()
    if job.state in ENDS:
        return _("The job has ended: %(state)s.") % {"state": JobState(job.state).label}
    if job.attempt is None:
        return _("The job has no slot.")
    if job.attempt.state != AttemptState.PENDING:
        return _("The slot was settled before.")
    return ""


def how_it_ended(call: Call) -> str:
    outcome = CallState(call.late_outcome or call.state).label
    return _("The outcome of this call is known: %(outcome)s.") % {"outcome": outcome}


def being_sent(call: Call, now: datetime) -> str:
    return _(
        "This call is being sent. Its answer is due by %(time)s and is handled automatically."
    ) % {"time": moment_in_words(call.answer_by, now)}


def no_job() -> str:
    return _("This call belongs to no job.")
