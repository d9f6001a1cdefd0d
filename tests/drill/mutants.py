"""Planted defects, to see that the drill finds them: each patches one place of a drill's site.

Where a second layer hides a defect, that layer is off as well (`without`).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.drill.patches import replace

VARIABLE = "COUNTERFOIL_DRILL_MUTANT"


@dataclass(frozen=True)
class Mutant:
    name: str
    says: str
    install: Callable[[], None]
    shows: frozenset[str]
    """As which kinds of wrong the drill finds it."""
    without: str = ""
    plant: Callable[[], None] = lambda: None
    """Once, in the database."""


def _no_wall() -> None:
    """Two senders of one job would meet nothing but the wall."""
    from jobs.core.states import SOURCES, JobState
    from providers.calls import ledger
    from providers.calls.states import LIVE
    from providers.routing import pool

    candidates = pool.candidates
    SOURCES[JobState.RUNNING] |= {JobState.RUNNING, JobState.IN_DOUBT}
    replace(ledger, "find_live_call", lambda work: None)
    replace(
        pool,
        "candidates",
        lambda chosen, calls: candidates(
            chosen, [call for call in calls if call.state not in LIVE]
        ),
    )


def _drop_wall() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX IF EXISTS call_wall")


def _settle_anything() -> None:
    from quotas import ledger
    from quotas.models import Attempt
    from quotas.states import AttemptState

    def settle(
        *, attempt_id: int, state: AttemptState, now: datetime, cost_nothing: bool = False
    ) -> bool:
        columns: dict[str, Any] = {"state": state, "settled_at": now}
        nothing = cost_nothing and state == AttemptState.FAILED
        return Attempt.objects.filter(pk=attempt_id).update(**columns, cost_nothing=nothing) == 1

    replace(ledger, "settle", settle)


def _send_before_commit() -> None:
    """The row is made anew once the answer is there, under the token that went with the request."""
    from django.db import transaction
    from django.utils import timezone

    from jobs.core import faultpoints, leases
    from jobs.engine import incoming, sending
    from providers.calls.models import Call

    in_order = sending._open_and_send
    open_somewhere, submit = sending._open_somewhere, sending._submit
    follow, release = incoming.follow_submit, leases.release

    def open_and_send(lease: Any, kind: Any, step: Any) -> None:
        with transaction.atomic():
            unwritten = open_somewhere(lease, kind, timezone.now())
            transaction.set_rollback(True)
        if not isinstance(unwritten, Call):
            in_order(lease, kind, step)
            return
        answer = submit(unwritten, step.request(lease.stage, unwritten))
        faultpoints.reach("submit_answered")
        call = open_somewhere(lease, kind, timezone.now())
        if isinstance(call, Call):
            Call.objects.filter(pk=call.pk).update(hook_token=unwritten.hook_token)
            follow(call, answer, timezone.now())
            release(lease, due_at=call.deadline_at)

    replace(sending, "_open_and_send", open_and_send)


def _fail_unknown() -> None:
    from jobs.engine import sending
    from providers.outcomes import Rejected, Unknown

    submit = sending._submit

    def submit_surely(*about: Any) -> Any:
        answer = submit(*about)
        return Rejected(answer.why) if isinstance(answer, Unknown) else answer

    replace(sending, "_submit", submit_surely)


def _wake_nobody() -> None:
    from jobs.processes import ticker

    replace(ticker, "wake_due", lambda now: None)
    replace(ticker.Ticker, "free_dead", lambda self, now: None)


def _ignore_token() -> None:
    from jobs.core import leases
    from jobs.core.models import Stage

    def finish(lease: Any, now: datetime) -> bool:
        columns = {**leases.FREE, "due_at": None, "done_at": now, "tries": 0}
        return Stage.objects.filter(pk=lease.stage.pk).update(**columns) == 1

    replace(leases, "is_held", lambda lease: True)
    replace(leases, "finish", finish)


def _forget_early_id() -> None:
    from providers.adapters.sandbox import SandboxPolza

    replace(SandboxPolza, "early_id_header", "")


def _believe_any_id() -> None:
    from providers.adapters import run_queries

    replace(run_queries, "names_same_run", lambda named, requested: True)


def _fail_empty_at_once() -> None:
    from providers.calls import interim

    replace(interim, "has_waited_for_output", lambda call, now: True)


MUTANTS = (
    Mutant(
        "no-wall",
        "no unique index on the work of a call",
        _no_wall,
        frozenset({"executed twice"}),
        without="the compare-and-set of the job, and both looks at a live call",
        plant=_drop_wall,
    ),
    Mutant(
        "settle",
        "an attempt is settled without compare-and-set",
        _settle_anything,
        frozenset({"slot", "oversold", "stuck"}),
    ),
    Mutant(
        "no-row",
        "a request is sent before its row is committed",
        _send_before_commit,
        frozenset({"executed twice", "run without call", "request without call"}),
    ),
    Mutant(
        "unknown-failed",
        "an unknown submit is taken as not executed",
        _fail_unknown,
        frozenset({"executed twice"}),
    ),
    Mutant(
        "no-recovery",
        "nothing wakes what a dead process held",
        _wake_nobody,
        frozenset({"stuck"}),
    ),
    Mutant(
        "no-token",
        "a stage is ended without the token of its lease",
        _ignore_token,
        frozenset({"delivered twice"}),
    ),
    Mutant(
        "no-header",
        "the id in the headers of an answer is not read",
        _forget_early_id,
        frozenset({"lost result"}),
    ),
    Mutant(
        "no-ids",
        "ids are not compared",
        _believe_any_id,
        frozenset({"wrong picture"}),
    ),
    Mutant(
        "no-grace",
        "a completion without output is a failure at once",
        _fail_empty_at_once,
        frozenset({"lost result", "false failure"}),
    ),
)
NAMES = tuple(mutant.name for mutant in MUTANTS)


def settings_for(name: str) -> dict[str, str]:
    """Results live short there, since what a planted defect leaves behind is waited for."""
    return {VARIABLE: name, "SANDBOX_RESULT_RETENTION": "40"}


def chosen() -> Mutant | None:
    return next((each for each in MUTANTS if each.name == os.environ.get(VARIABLE)), None)


def install() -> None:
    mutant = chosen()
    if mutant:
        mutant.install()


def plant() -> bool:
    mutant = chosen()
    if mutant:
        mutant.plant()
    return mutant is not None
