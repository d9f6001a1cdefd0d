"""Every chain of outcomes that can be thought of: no work is ever paid for twice.

Two providers answer submits and polls as hypothesis likes; workers and the ticker act in any
order, each with rows it read at some earlier time. Beside them stands what evidence says.
"""

from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobs import outcomes
from jobs.core.models import Job, Stage
from jobs.core.states import ENDS
from jobs.engine import incoming
from jobs.engine.webhook_references import ConfirmedRun
from jobs.ops import audit
from jobs.processes.ticker import Ticker, follow_poll
from providers.calls.models import Call
from providers.calls.result_files import read_rows
from providers.calls.states import CallState
from providers.outcomes import Accepted, Cause, Failed, NoAnswer, Rejected, Running, Unknown
from tests import working
from tests.fakes import made

pytestmark = pytest.mark.django_db

COSTS = st.sampled_from([Decimal(0), Decimal("5.00"), None])
WHYS = st.sampled_from(["auth", "balance", "content", "provider", "transport", "no_output"])
SUBMITS = st.one_of(
    st.just("accepted"),
    st.builds(lambda why: Rejected(Cause(why, rule="refused")), WHYS),
    st.builds(lambda after: Rejected(Cause("rate", rule="too_many", retry_after=after)),
              st.sampled_from([None, 0.0, 1.0, 90.0])),
    st.just(Rejected(Cause("transport", rule="send_window_missed"))),
    st.just(Unknown(Cause("transport", rule="lost"))),
    st.just(Failed(Cause("no_output"), Decimal("5.00"))),
    st.just(Failed(Cause("no_output"), None)),
    st.just(Failed(Cause("no_output"), Decimal(0))),
    st.just(made()),
    st.just(RuntimeError("a bug in the adapter")),
)  # fmt: skip
POLLS = st.one_of(
    st.just(made()),
    st.builds(lambda cost: Failed(Cause("provider"), cost), COSTS),
    st.builds(lambda why, cost: Failed(Cause(why), cost), WHYS, COSTS),
    st.just(Running("processing")),
    st.just(NoAnswer(Cause("provider", http=500))),
)
BUSY = Rejected(Cause("rate", rule="too_many"))
# "work" and "poll" are what usually happens; the rest comes between.
STEPS = st.lists(
    st.one_of(
        st.just(("work", None)),
        st.tuples(st.just("poll"), POLLS),
        st.tuples(st.just("poll"), POLLS),
        st.just(("again", None)),
        st.tuples(st.just("old_news"), POLLS),
        st.tuples(st.just("hint"), POLLS),
        st.tuples(st.just("wait"), st.sampled_from([1, 31, 700, 86_401])),
        st.just(("tick", None)),
        st.just(("unwanted", None)),
        st.just(("cancel", None)),
    ),
    max_size=14,
)


def scripted(submits: list) -> list:
    """Each "accepted" gets an id of its own."""
    numbers = iter(range(1000))
    return [
        Accepted(f"run-{id(submits)}-{next(numbers)}") if answer == "accepted" else answer
        for answer in submits
    ]


def find_calls(job: Job) -> list[Call]:
    return list(Call.objects.of_work(f"image:{job.pk}"))


def possibly_billed(call: Call) -> bool:
    """All but what surely was not executed, and what failed for nothing by the provider's word."""
    if call.state == CallState.REJECTED:
        return False
    return not (call.state == CallState.FAILED and call.cost == 0)


class Chain:
    def __init__(self, job: Job, clock) -> None:
        self.job, self.clock = job, clock
        self.stale: list[Call] = []
        self.ended: dict[int, str] = {}
        self.settled = ""

    def step(self, name: str, what) -> None:
        before = find_calls(self.job)
        self.stale += before
        getattr(self, name)(what)
        self.nothing_is_undone()
        if any(call.late_outcome in ("accepted", "succeeded") for call in before):
            assert len(find_calls(self.job)) == len(before)

    def work(self, what) -> None:
        working.advance(self.job.pk)

    def again(self, what) -> None:
        """A message delivered twice, for a stage that is due once more."""
        Stage.objects.unfinished().filter(lease_token=None).update(due_at=timezone.now())
        working.advance(self.job.pk)

    def poll(self, answer) -> None:
        live = [call for call in find_calls(self.job) if call.reference and call.poll_at]
        for call in live:
            follow_poll(call, answer, timezone.now())

    def old_news(self, answer) -> None:
        """Another actor, with rows read before anything of the rest happened."""
        for call in self.stale[:2]:
            if call.reference:
                follow_poll(call, answer, timezone.now())

    def hint(self, answer) -> None:
        """A webhook named a run, and the provider knows it: also one that it said it refused."""
        unnamed = [call for call in find_calls(self.job) if not call.reference]
        for call in unnamed if not isinstance(answer, NoAnswer) else ():
            if call.state != CallState.SENDING:
                follow_poll(call, ConfirmedRun(f"hinted-{call.pk}", answer), timezone.now())

    def wait(self, seconds: int) -> None:
        self.clock.shift(timedelta(seconds=seconds))

    def tick(self, what) -> None:
        ticker = Ticker()
        for call in Call.objects.due(timezone.now()):
            if call.reference is None or timezone.now() >= call.give_up_at:
                incoming.give_up(call, timezone.now())
        ticker.close()

    def unwanted(self, what) -> None:
        Job.objects.filter(pk=self.job.pk).update(unwanted_at=timezone.now())

    def cancel(self, what) -> None:
        outcomes.cancel(self.job.pk, timezone.now())

    def nothing_is_undone(self) -> None:
        for call in find_calls(self.job):
            if call.pk in self.ended:
                assert call.state == self.ended[call.pk]
            elif call.ended_at:
                self.ended[call.pk] = call.state
        attempt = Job.objects.get(pk=self.job.pk).attempt
        if self.settled:
            assert attempt.state == self.settled
        elif attempt.settled_at:
            self.settled = attempt.state


@pytest.mark.parametrize("after_billed", [False, True], ids=["never", "after_billed"])
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    first=st.lists(SUBMITS, min_size=1, max_size=4),
    second=st.lists(SUBMITS, max_size=4),
    steps=STEPS,
)
@example(
    first=[BUSY, "accepted"],
    second=[BUSY],
    steps=[("hint", Running("processing")), ("wait", 31), ("work", None)],
)
def test_no_chain_holds_two_calls_that_may_have_been_billed(
    order, fake, spare, settings, now, after_billed, first, second, steps
):
    settings.FALLBACK_AFTER_BILLED = after_billed
    fake.submits, spare.submits = scripted(first), scripted(second)
    fake.tests_own_transactions = spare.tests_own_transactions = 2
    with transaction.atomic(), time_machine.travel(now, tick=False) as clock:
        job = order()
        chain = Chain(job, clock)
        for name, what in [("work", None), *steps]:
            chain.step(name, what)
            billed = [call for call in find_calls(job) if possibly_billed(call)]
            unsettled = [call for call in billed if call.state != CallState.FAILED]
            assert len(unsettled) <= 1
            assert len(billed) <= 1 or after_billed
        chain.work(None)
        assert_the_books_balance(Job.objects.select_related("attempt").get(pk=job.pk))
        transaction.set_rollback(True)


def assert_the_books_balance(job: Job) -> None:
    calls = find_calls(job)
    assert not list(audit.violations(timezone.now()))
    is_live = any(call.ended_at is None for call in calls)
    was_given_up = any(call.state == CallState.GIVEN_UP for call in calls)
    if job.state in ENDS and not was_given_up:
        assert job.attempt.state != "pending"
    if job.attempt.state == "failed" and not job.pictures.exists():
        assert not is_live
    for call in calls:
        if call.state == CallState.SUCCEEDED and read_rows(call):
            assert call.pictures.exists() or not Stage.objects.get(call=call).done_at
