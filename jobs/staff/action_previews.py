"""What is known of a call and what a decision of staff about it will do, in words, before it is
taken. No prompt, no text of a provider but its last answer."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from jobs.core.models import Job, Stage
from jobs.core.states import JobState
from jobs.staff.dashboard.provider_health import state_of
from jobs.words import wording
from providers.adapters.registry import result_retention
from providers.calls.models import Call, Gate
from providers.calls.money import format_amount
from providers.calls.states import CallState
from quotas.ledger import balance_of, utc_day
from quotas.models import Grant
from quotas.states import AttemptState


@dataclass(frozen=True)
class Table:
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """A row that stands alone is read downwards."""
        return list(zip(self.heads, self.rows[0], strict=True)) if len(self.rows) == 1 else []


def table_of(
    calls: Sequence[Call], now: datetime, remarks: Mapping[int, str] | None = None
) -> Table:
    heads = [
        _("Call"),
        _("Work"),
        _("Provider"),
        _("State"),
        _("Provider's id"),
        _("Sent"),
        _("Last look"),
        _("Last answer"),
        _("Next look"),
        _("Pursued until"),
        _("Estimate"),
    ]
    rows = [_row_of(call, now) for call in calls]
    return _with_remarks(heads, rows, [remarks[call.pk] for call in calls] if remarks else [])


def table_of_grant(grant: Grant) -> Table:
    heads = [_("Account"), _("Kind"), _("UTC day"), _("Extra slots"), _("Reason"), _("Granted")]
    row = [
        str(grant.account),
        grant.get_kind_display(),
        str(grant.day),
        str(grant.slots),
        grant.reason,
        moment(grant.granted_at),
    ]
    return Table(heads, [row])


def table_of_jobs(
    jobs: Sequence[Job], aside: Mapping[uuid.UUID, Stage], remarks: Mapping[uuid.UUID, str]
) -> Table:
    heads = [
        _("Job"),
        _("State"),
        _("Ordered"),
        _("Stage"),
        _("Deaths of its worker"),
        _("Next try"),
    ]
    rows = [_row_of_job(job, aside.get(job.pk)) for job in jobs]
    return _with_remarks(heads, rows, [remarks[job.pk] for job in jobs])


def table_of_gates(provider: str, gates: Sequence[Gate], now: datetime) -> Table:
    heads = [_("Provider, model"), _("State"), _("Because of"), _("Since")]
    if not gates:
        return Table(heads, [[provider, _("Up"), "–", "–"]])
    states = [(gate, state_of(gate, now)) for gate in gates]
    rows = [
        [str(gate), state.word, state.why or "–", moment(state.since)] for gate, state in states
    ]
    return Table(heads, rows)


def of_check(calls: Sequence[Call], able: Sequence[Call]) -> list[str]:
    says = [
        _("The provider is asked about it in the ticker's next round, within seconds."),
        _("What it says is followed like any other answer; nothing is sent again."),
    ]
    if any(call.ended_at for call in able):
        says.append(_end_stays())
    if len(able) < len(calls):
        left = len(calls) - len(able)
        says.append(_("Calls that are left alone: %(count)s.") % {"count": left})
    return says


def of_give_back(call: Call, job: Job | None, now: datetime) -> list[str]:
    says = [
        _slot(job, now),
        _("The job ends as Failed. Its person reads: %(words)s")
        % {"words": wording.reason_in_words("given_back")},
    ]
    if call.state == CallState.SUCCEEDED:
        return [
            *says,
            _("The call keeps its cost. What came is kept, and can be delivered later."),
            _("This cannot be taken back."),
        ]
    return [
        *says,
        _("The call is given up and counts as possibly charged: %(estimate)s.")
        % {"estimate": _estimate(call)},
        _("It is looked at as before, until %(time)s.") % {"time": moment(call.give_up_at)},
        _("If the picture comes, it is delivered and takes no slot."),
        _("This cannot be taken back."),
    ]


def of_deliver(job: Job | None) -> list[str]:
    says = [
        _("The picture is given to the person who ordered it."),
        _("Without another file the newest one that is kept is delivered, if it can be read now."),
    ]
    if job and job.attempt and job.attempt.state == AttemptState.PENDING:
        says.append(_("The slot counts as used."))
    return [*says, _("This cannot be taken back.")]


def of_ask(call: Call) -> list[str]:
    return [
        _("The provider is asked about this id first; what it does not confirm is not attached."),
        _("You see its answer, and attach the id or not."),
        *of_attach(call),
    ]


def of_attach(call: Call) -> list[str]:
    says = [
        _("Once attached, it is asked about the run of this id for up to %(days)s days.")
        % {"days": result_retention(call.provider).days},
        _("The picture of that run is given to the person who asked for this one."),
    ]
    if call.ended_at:
        says.append(_end_stays())
    return [*says, _("The id cannot be changed afterwards.")]


def of_resume(jobs: Sequence[Job], aside: Mapping[uuid.UUID, Stage]) -> list[str]:
    says = [
        _("Its stage is put into the queue at once, and run by the next free worker."),
        _("What was sent is not sent again: it looks at its rows first."),
        _("If its worker dies again, it rests again, for longer."),
    ]
    if left := len(jobs) - len(aside):
        says.append(_("Jobs that are left alone: %(count)s.") % {"count": left})
    return says


def of_pause() -> list[str]:
    return [
        _("Nothing new is sent to it until somebody lets requests in again."),
        _("What is on its way goes on."),
        _(
            "Work that nobody else may do waits its turn, and fails with its slot given back when"
            " that takes too long."
        ),
    ]


def of_let_in() -> list[str]:
    return [
        _("Whatever paused it or one of its models ends now."),
        _("If it still refuses, the next request pauses it again."),
    ]


def of_revoke(grant: Grant) -> list[str]:
    balance = balance_of(grant.account, grant.kind, grant.day)
    held = {"held": balance.used + balance.on_hold, "allowed": balance.allowed}
    rest = {"rest": max(0, balance.allowed - grant.slots)}
    return [
        _("Of that day %(held)s of %(allowed)s are used or on hold.") % held,
        _("The allowance of that day falls to %(rest)s at once.") % rest,
        _("What is used or on hold stays so."),
    ]


def _with_remarks(
    heads: Sequence[str], rows: Sequence[Sequence[str]], remarks: Sequence[str]
) -> Table:
    """With why some are left alone, in a column of its own where there is anything to say."""
    if not any(remarks):
        return Table(heads, rows)
    with_remarks = [[*row, said or "–"] for row, said in zip(rows, remarks, strict=True)]
    return Table([*heads, _("Left alone, because")], with_remarks)


def _end_stays() -> str:
    return _("A call that has ended stays as it ended; a picture that was made is delivered.")


def _row_of(call: Call, now: datetime) -> list[str]:
    return [
        str(call.pk),
        call.work,
        f"{call.provider}:{call.model}",
        _state(call, now),
        call.reference or "–",
        _age(call.sent_at, now),
        moment(call.polled_at),
        call.last_answer or "–",
        moment(call.poll_at),
        moment(call.give_up_at),
        _estimate(call),
    ]


def _row_of_job(job: Job, stage: Stage | None) -> list[str]:
    row = [str(job.pk), str(JobState(job.state).label), moment(job.created_at)]
    return [*row, *([stage.name, str(stage.tries), moment(stage.due_at)] if stage else ["–"] * 3)]


def _state(call: Call, now: datetime) -> str:
    state = str(CallState(call.state).label)
    return _("%(state)s, in doubt") % {"state": state} if call.is_in_doubt(now) else state


def _slot(job: Job | None, now: datetime) -> str:
    attempt = job.attempt if job else None
    if attempt is None:
        return ""
    slot = {"slot": attempt.slot, "day": wording.day_in_words(attempt.day)}
    says = _("The attempt on slot %(slot)s of %(day)s fails for good.") % slot
    if attempt.day == utc_day(now):
        return f"{says} " + _("The slot is free at once.")
    return f"{says} " + _("That day is over: for a slot of today, grant one.")


def _estimate(call: Call) -> str:
    if call.cost_estimate is None:
        return _("without a price")
    return f"{format_amount(call.cost_estimate)} {call.currency}"


def _age(at: datetime, now: datetime) -> str:
    return _("%(time)s, %(age)s ago") % {"time": moment(at), "age": timesince(at, now)}


def moment(at: datetime | None) -> str:
    """To the second, as staff compare it with what others say."""
    return "–" if at is None else f"{at:%d %b %H:%M:%S} UTC"
