"""A job of three works: the end of one call ends its own work; the job ends and its attempt is
settled once, with the last."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from jobs import kinds, outcomes
from jobs.core import leases
from jobs.core.models import Job, Stage
from jobs.engine import advance as engine
from jobs.engine import incoming
from jobs.ops import audit, restores
from providers.adapters import registry
from providers.adapters.accounts import ProviderAccount
from providers.calls.models import Call
from providers.outcomes import Accepted, Cause, Done, Failed, Rejected, Unknown
from quotas.ledger import Refused
from tests import working
from tests.fakes import FakeProvider
from tests.jobs.kinds import trio

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued")]

MADE = Done((), Decimal("1.00"))
REFUSED = Rejected(Cause("content", rule="refused", http=422))
BUSY = Rejected(Cause("rate", rule="too_many", http=429, retry_after=30))
LOST = Unknown(Cause("transport", rule="lost"))
ENDINGS = {"ready", "failed", "given_up", "cancelled"}


class AtOnce(FakeProvider):
    """Answers with the result itself."""

    complete = FakeProvider.submit


@pytest.fixture
def providers(monkeypatch, settings):
    """The providers of the three works, by part: scripts to fill in."""
    found = {}
    for part, offer in trio.OFFERS.items():
        provider = AtOnce() if part == "third" else FakeProvider()
        provider.name = offer.provider
        monkeypatch.setitem(
            registry.ADAPTERS, offer.provider, lambda provider=provider, **account: provider
        )
        account = ProviderAccount(
            name=offer.provider, adapter=offer.provider, base_url="https://fake.test"
        )
        settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {offer.provider: account}
        found[part] = provider
    registry.find_provider.cache_clear()
    monkeypatch.setitem(kinds.KINDS, trio.KIND, trio.TRIO)
    yield found
    registry.find_provider.cache_clear()


@pytest.fixture
def job(account, providers, now):
    return trio.order(account, now)


@pytest.fixture
def run(job, providers):
    """Send all three works; the first two are answered with an id where nothing else is said."""

    def send(first=None, second=None, third=MADE) -> Job:
        answers = {"first": first, "second": second, "third": third}
        for part, answer in answers.items():
            providers[part].submits.append(answer or Accepted(f"run-{part}"))
        working.advance(job.pk)
        return job

    return send


def call_of(job: Job, part: str) -> Call:
    return Call.objects.get(work=f"trio:{job.pk}:{part}")


def tell(job: Job, part: str, answer) -> None:
    incoming.apply(call_of(job, part), answer, timezone.now())


def ends(job: Job) -> tuple[str, str]:
    job = Job.objects.select_related("attempt").get(pk=job.pk)
    return job.state, job.attempt.state


def endings(job: Job) -> list[str]:
    return [event.name for event in job.events.order_by("pk") if event.name in ENDINGS]


def violations() -> set[str]:
    return {found.check for found in audit.violations(timezone.now())}


def test_each_work_is_a_message_and_a_lease_of_its_own(
    account, providers, now, enqueued, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        job = trio.order(account, now)
    stages = list(job.stages.order_by("pk"))
    assert [arguments for _, arguments in enqueued] == [(stage.pk,) for stage in stages]
    taken = [leases.take(stage.pk, now) for stage in stages]
    assert all(taken)
    assert len({lease.token for lease in taken}) == 3
    assert not any(leases.take(stage.pk, now) for stage in stages)


def test_it_is_ready_and_settled_with_the_last_work(run):
    job = run()
    assert ends(job) == ("running", "pending")
    tell(job, "first", MADE)
    assert ends(job) == ("running", "pending")
    tell(job, "second", MADE)
    assert ends(job) == ("ready", "success")
    assert endings(job) == ["ready"]
    assert Call.objects.count() == 3
    assert violations() == set()


def test_news_that_comes_twice_settles_once(run):
    job = run()
    for part in ("first", "second", "first", "second"):
        tell(job, part, MADE)
    assert endings(job) == ["ready"]


def test_what_failed_leaves_the_other_works_alone(run):
    job = run(first=REFUSED)
    assert ends(job) == ("running", "pending")
    tell(job, "second", MADE)
    assert ends(job) == ("ready", "success")
    assert "work_failed" in job.events.values_list("name", flat=True)
    assert violations() == set()


def test_the_slot_comes_back_where_nothing_was_made(run):
    job = run(REFUSED, REFUSED, REFUSED)
    assert ends(job) == ("failed", "failed")
    job.refresh_from_db()
    assert job.attempt.cost_nothing
    assert endings(job) == ["failed"]
    assert violations() == set()


def test_one_billed_failure_counts_as_a_try_that_cost(run):
    job = run(second=REFUSED, third=REFUSED)
    tell(job, "first", Failed(Cause("provider"), Decimal("1.00")))
    assert ends(job) == ("failed", "failed")
    job.refresh_from_db()
    assert not job.attempt.cost_nothing


def test_what_was_given_up_keeps_the_slot_on_hold(run):
    job = run(LOST, REFUSED, REFUSED)
    assert ends(job) == ("in_doubt", "pending")
    call = call_of(job, "first")
    assert incoming.give_up(call, call.give_up_at)
    assert ends(job) == ("not_confirmed", "pending")
    assert endings(job) == ["given_up"]
    assert violations() == set()


def test_what_was_given_up_takes_nothing_from_a_result(run):
    job = run(LOST, REFUSED)
    call = call_of(job, "first")
    assert incoming.give_up(call, call.give_up_at)
    assert ends(job) == ("ready", "success")
    assert violations() == set()


def test_a_late_result_is_used_by_an_attempt_that_is_still_pending(run):
    job = run(LOST, REFUSED, REFUSED)
    call = call_of(job, "first")
    incoming.give_up(call, call.give_up_at)
    tell(job, "first", MADE)
    assert ends(job) == ("ready", "success")


def test_a_late_failure_gives_the_slot_back(run):
    job = run(LOST, REFUSED, REFUSED)
    call = call_of(job, "first")
    incoming.give_up(call, call.give_up_at)
    tell(job, "first", Failed(Cause("provider"), Decimal(0)))
    assert ends(job) == ("not_confirmed", "failed")


def test_staff_give_the_slot_of_a_doubt_back(run):
    job = run(LOST, REFUSED, REFUSED)
    assert incoming.give_back(call_of(job, "first"), timezone.now())
    assert ends(job) == ("failed", "failed")
    assert call_of(job, "first").state == "given_up"


def test_an_answer_about_one_work_does_not_end_the_doubt_about_another(run):
    job = run(first=LOST)
    tell(job, "second", MADE)
    assert ends(job) == ("in_doubt", "pending")
    tell(job, "first", Accepted("run-first"))
    assert ends(job) == ("running", "pending")


def test_one_that_waits_its_turn_does_not_let_the_others_be_cancelled(run, clock, providers):
    job = run(first=BUSY)
    assert ends(job) == ("running", "pending")
    assert not outcomes.cancel(job.pk, timezone.now())
    clock.shift(timedelta(minutes=1))
    working.advance(job.pk)
    assert len(providers["first"].sent) == 2
    tell(job, "second", MADE)
    incoming.apply(Call.objects.get(state="accepted"), MADE, timezone.now())
    assert ends(job) == ("ready", "success")


def test_all_that_wait_their_turn_are_back_in_the_queue(run):
    job = run(BUSY, BUSY, BUSY)
    assert ends(job) == ("queued", "pending")
    assert outcomes.cancel(job.pk, timezone.now())
    assert ends(job) == ("cancelled", "failed")


def test_what_was_cancelled_sends_nothing(job, providers):
    assert outcomes.cancel(job.pk, timezone.now())
    for stage in Stage.objects.all():
        engine.advance(stage.pk)
    assert [provider.sent for provider in providers.values()] == [[], [], []]
    assert ends(job) == ("cancelled", "failed")
    assert violations() == set()


def test_the_third_death_of_one_work_fails_that_work(job, providers, clock, monkeypatch):
    first = Stage.objects.get(work=f"trio:{job.pk}:first")

    broken = replace(trio.TRIO, stages={"ask": lambda lease: 1 / 0})
    with monkeypatch.context() as patch:
        patch.setitem(kinds.KINDS, trio.KIND, broken)
        for _ in range(3):
            engine.advance(first.pk)
            clock.shift(timedelta(hours=1))
    assert ends(job) == ("queued", "pending")
    providers["third"].submits.append(MADE)
    working.advance(job.pk)
    tell(job, "second", MADE)
    assert ends(job) == ("ready", "success")
    assert providers["first"].sent == []


def test_no_more_jobs_are_open_than_the_plan_has_slots(account, providers, now):
    orders = [trio.order(account, now) for _ in range(5)]
    assert [isinstance(order, Refused) for order in orders] == [False] * 3 + [True] * 2
    assert Job.objects.count() == 3


def test_a_restored_database_sends_no_work_that_may_have_been_sent(job, providers, now):
    first = Stage.objects.get(work=f"trio:{job.pk}:first")
    engine.advance(first.pk)
    restores.take_over(backup_made_at=now, now=now)
    working.advance(job.pk)
    assert providers["second"].sent == providers["third"].sent == []
    tell(job, "first", MADE)
    assert ends(job) == ("ready", "success")
