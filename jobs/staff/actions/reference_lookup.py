"""The provider's answer about an id, shown to staff before they attach it to a call.

    look ──> confirmed: it knows such a run ──> shown with what speaks against it ──> attach
      └────> anything else, or a run that began before the call was sent ──> refused

An id in the provider's history may belong to another user. So none is attached that the
provider does not confirm under our key, nor unseen; its answer is followed in the same action.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from jobs import poll_answers
from jobs.engine import webhook_references
from jobs.engine.webhook_references import ConfirmedRun
from jobs.staff.actions.tables import Table, moment
from providers import recovery
from providers.adapters.registry import is_known
from providers.adapters.run_queries import list_runs
from providers.calls.models import Call
from providers.outcomes import (
    Cause,
    Done,
    Failed,
    Listing,
    NoAnswer,
    NoOutput,
    Run,
    Running,
    storable,
)
from providers.reasons import Reason

MOST_SHOWN = 120


@dataclass(frozen=True)
class ReferenceLookup:
    """`run` is the row of the provider's own list around the call; None where it shows none."""

    reference: str
    answer: ConfirmedRun | NoAnswer
    run: Run | None = None


def look(call: Call, reference: str, now: datetime) -> ReferenceLookup:
    """Two requests; never inside a transaction. An answer about another run opens the
    alert."""
    if not is_known(call.provider):
        return ReferenceLookup(
            reference, NoAnswer(Cause(Reason.CONFIG, text="not among the settings"))
        )
    answer = webhook_references.ask(call.provider, reference, call.model)
    poll_answers.follow(call.provider, answer, polled_at=now, now=now)
    if isinstance(answer, NoAnswer):
        return ReferenceLookup(reference, answer)
    return ReferenceLookup(reference, answer, _in_list(call, reference, now))


def why_not(call: Call, seen: ReferenceLookup) -> str:
    if isinstance(seen.answer, NoAnswer):
        why = seen.answer.why
        said = {"says": _shown(why.code or why.text or f"HTTP {why.http}")}
        return (
            _("The provider does not confirm this id now (%(says)s). Nothing was attached.") % said
        )
    if seen.run and seen.run.created_at < call.sent_at - recovery.SKEW:
        return _("The run of this id began at %(time)s, before the call was sent.") % {
            "time": moment(seen.run.created_at)
        }
    return ""


def list_warnings(call: Call, seen: ReferenceLookup) -> list[str]:
    """What speaks against it without proof: lists name models and times in their own way."""
    if seen.run is None:
        return [_("The provider's list for the time of the call does not show this run.")]
    found = []
    if seen.run.model != call.model:
        found.append(_("This run used a different model than the call."))
    if seen.run.created_at > call.answer_by + recovery.SKEW:
        found.append(_("It began after the answer to the call was due."))
    return found


def build_table(seen: ReferenceLookup) -> Table:
    run = seen.run
    heads = [_("Provider's id"), _("State"), _("Model"), _("Begun")]
    listed = [_shown(run.model), moment(run.created_at)] if run else ["–", "–"]
    return Table(heads, [[seen.reference, words_of(seen), *listed]])


def words_of(seen: ReferenceLookup) -> str:
    match seen.answer:
        case ConfirmedRun(_, Done(artifacts)):
            return _("done, results: %(count)s") % {"count": len(artifacts)}
        case ConfirmedRun(_, NoOutput()):
            return _("complete, no output yet")
        case ConfirmedRun(_, Failed(why)):
            return _("failed: %(why)s") % {"why": _shown(why.code) or why.kind}
        case ConfirmedRun(_, Running(status)):
            return _("running: %(status)s") % {"status": _shown(status) or "–"}
    return _("not confirmed")


def _in_list(call: Call, reference: str, now: datetime) -> Run | None:
    [(span, _calls)] = recovery.group_by_span([call], now)
    listing = list_runs(call.provider, span.begins, span.ends)
    poll_answers.follow(call.provider, listing, polled_at=now, now=now)
    runs: Sequence[Run] = listing.runs if isinstance(listing, Listing) else ()
    return next((run for run in runs if run.reference == reference), None)


def _shown(said: str) -> str:
    """Any answer of the provider, in a form that a page can show and a column can store."""
    return storable(said, MOST_SHOWN)
