"""Questions to a provider about its runs, and whether an answer is one to what was requested.

Every poll, webhook lookup, list and staff lookup of every adapter passes through here. An
answer that names another run, or none, is no answer (docs/adr/0011-answers-and-their-questions.md).
"""

from datetime import datetime, timedelta

from providers.adapters.base import ListsRuns, PollsRuns
from providers.adapters.registry import find_provider, is_known
from providers.outcomes import Cause, Listing, NoAnswer, PollResult, RunList
from providers.reasons import Reason, Rule
from providers.wire.http import settle_connection

ROUNDING = timedelta(seconds=1)
"""Times in a request are cut to what the provider's format holds."""

NO_MATCH = NoAnswer(
    Cause(Reason.PROVIDER, rule=Rule.OTHER_RUN, text="the answer names another run")
)
NO_MATCH_LIST = NoAnswer(
    Cause(Reason.PROVIDER, rule=Rule.OTHER_RUN, text="the list is of another time")
)
NO_POLLS = NoAnswer(Cause(Reason.CONFIG, text="the provider has no polls"))
NO_LIST = NoAnswer(Cause(Reason.CONFIG, text="the provider has no list"))


def poll_run(provider: str, reference: str, model: str) -> PollResult:
    adapter = find_provider(provider)
    if not isinstance(adapter, PollsRuns):
        return NO_POLLS
    report = adapter.poll(reference, model)
    is_believed = not isinstance(report, NoAnswer) and names_same_run(report.reference, reference)
    settle_connection(is_believed=is_believed)
    if isinstance(report, NoAnswer):
        return report
    return report.outcome if is_believed else NO_MATCH


def can_poll(provider: str) -> bool:
    return is_known(provider) and isinstance(find_provider(provider), PollsRuns)


def list_runs(provider: str, since: datetime, until: datetime) -> RunList:
    adapter = find_provider(provider)
    if not isinstance(adapter, ListsRuns):
        return NO_LIST
    listing = adapter.runs_between(since, until)
    settle_connection(is_believed=False)
    if isinstance(listing, Listing) and not lies_between(listing, since, until):
        return NO_MATCH_LIST
    return listing


def names_same_run(named: str, requested: str) -> bool:
    """Compared as the provider spelled it in its answer to the submit: character by character."""
    return named == requested


def lies_between(listing: Listing, since: datetime, until: datetime) -> bool:
    since, until = since - ROUNDING, until + ROUNDING
    return all(since <= run.created_at <= until for run in listing.runs)
