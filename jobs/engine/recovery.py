"""Looking for lost submits: the threads ask a provider for its list, the main thread decides.

Lost, without an id ────> runs_between (thread) ──> find_lost ──> apply: accepted or rejected
                                                             └──> looked at again later
"""

import logging
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError, transaction
from django.utils import timezone

from jobs import poll_answers
from jobs.core.models import Job
from jobs.engine import incoming
from providers import recovery
from providers.adapters.run_queries import list_runs
from providers.calls import ledger as calls
from providers.calls.models import Call
from providers.outcomes import Accepted, Cause, NoAnswer, Outcome, Rejected, RunList
from providers.reasons import Reason, Rule
from providers.recovery import CannotTell, Found, NotExecuted, Span

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Search:
    """One account's calls, by the time spans for which its list is requested."""

    provider: str
    parts: tuple[tuple[Span, list[Call]], ...]
    started_at: datetime


class Searches:
    """At most one at a time an account: a call that comes meanwhile has its turn at its next
    look."""

    def __init__(self, pool: Executor) -> None:
        self.pool = pool
        self.running: dict[Future[list[RunList]], Search] = {}

    def start(self, wanted: list[Call], now: datetime) -> None:
        """`wanted` are claimed and have no id. A list that would prove nothing is not requested."""
        busy = {search.provider for search in self.running.values()}
        by_provider: dict[str, list[Call]] = {}
        for call in wanted:
            not_asked = recovery.why_not_to_ask(call)
            if not_asked:
                _note(call, CannotTell(not_asked))
            elif call.provider not in busy:
                by_provider.setdefault(call.provider, []).append(call)
        for provider, group in by_provider.items():
            search = Search(provider, tuple(recovery.group_by_span(group, now)), now)
            self.running[self.pool.submit(_ask, search)] = search

    def collect(self) -> None:
        """Follow the lists that came, one call at a time; a bad row stops no other."""
        for future in [future for future in self.running if future.done()]:
            search = self.running.pop(future)
            for (_, group), listing in zip(search.parts, future.result(), strict=True):
                poll_answers.follow(
                    search.provider, listing, polled_at=search.started_at, now=timezone.now()
                )
                for call in group:
                    try:
                        follow(call, listing, timezone.now())
                    except DatabaseError:
                        raise
                    except Exception:
                        log.exception("Could not decide the outcome of call %s", call.pk)


def follow(call: Call, listing: RunList, now: datetime) -> None:
    """What is found is polled like any other; what was not executed gives its slot back, or
    another provider is asked."""
    verdict = recovery.find_lost(call, listing)
    if isinstance(verdict, CannotTell):
        _note(call, verdict)
        return
    with transaction.atomic():
        # Under the job's lock: a call that has ended or had news since it was read is not changed.
        Job.objects.select_for_update().of_work(call.work).get()
        if Call.objects.get(pk=call.pk).is_lost:
            incoming.apply(call, _news_of(verdict), now)


def _news_of(verdict: Found | NotExecuted) -> Outcome:
    if isinstance(verdict, Found):
        return Accepted(verdict.reference)
    return Rejected(Cause(Reason.TRANSPORT, rule=Rule.NOT_EXECUTED, text=verdict.evidence))


def _note(call: Call, verdict: CannotTell) -> None:
    calls.note_answer(call, f"cannot tell: {verdict.why}")


def _ask(search: Search) -> list[RunList]:
    """After a 429 the rest is not requested."""
    found: list[RunList] = []
    for span, _ in search.parts:
        is_limited = found and isinstance(found[-1], NoAnswer) and found[-1].why.kind == Reason.RATE
        found.append(found[-1] if is_limited else _list(search.provider, span))
    return found


def _list(provider: str, span: Span) -> RunList:
    try:
        return list_runs(provider, span.begins, span.ends)
    except Exception as exc:  # the pool: one adapter's fault must not stop the others
        log.exception("Adapter %s raised while listing its runs", provider)
        return NoAnswer(Cause(Reason.TRANSPORT, text=type(exc).__name__))
