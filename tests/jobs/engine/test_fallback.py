"""Another provider is asked exactly where the first surely did not execute; the page says so."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from jobs.core.models import Job, Stage
from jobs.engine import incoming
from jobs.panels import build_panel
from jobs.processes.ticker import follow_poll
from providers.calls import ledger
from providers.calls.models import Call, Gate
from providers.outcomes import Accepted, Cause, Failed, NoAnswer, Rejected, Running, Unknown
from providers.routing import gates
from quotas.models import Alert, AlertKind
from tests import rows, working
from tests.fakes import ACCOUNT, OFFER, SPARE, made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

DOWN = Rejected(Cause("provider", rule="own_enqueue_error", http=503))
BAD_KEY = Rejected(Cause("auth", rule="refused", http=401))
BUSY = Rejected(Cause("rate", rule="too_many", http=429))


def find_calls(job: Job) -> list[Call]:
    return list(Call.objects.of_work(f"image:{job.pk}"))


def asked(job: Job) -> list[str]:
    return [f"{call.provider} {call.state}" for call in find_calls(job)]


def ends(job: Job) -> tuple[str, str, str]:
    job = rows.again(job)
    return job.state, job.reason, job.attempt.state


def polled(job: Job, answer) -> None:
    """The ticker's answer about the last call, and what follows from it."""
    follow_poll(find_calls(job)[-1], answer, timezone.now())
    working.advance(job.pk)


def said(job: Job) -> str:
    return " ".join(build_panel(rows.again(job))["sentences"])


@pytest.mark.parametrize(
    "answer",
    [
        DOWN,
        BAD_KEY,
        Rejected(Cause("balance", rule="refused", http=402)),
        Rejected(Cause("content", rule="refused", http=422)),
        Rejected(Cause("transport", rule="never_connected")),
        BUSY,
    ],
    ids=lambda answer: answer.why.kind,
)
def test_what_surely_was_not_executed_is_asked_of_another_at_once(order, fake, spare, answer):
    fake.submits = [answer]
    job = order()
    working.advance(job.pk)
    assert asked(job) == ["fake rejected", "spare accepted"]
    first, second = find_calls(job)
    assert (second.after, second.after_rule) == (first, answer.why.rule)
    assert ends(job) == ("running", "", "pending")


@pytest.mark.parametrize(
    "answer",
    [
        Unknown(Cause("transport", rule="lost")),
        Unknown(Cause("provider", rule="gateway_error", http=502)),
        RuntimeError("a bug in the adapter"),
        Accepted("run-1"),
    ],
    ids=["lost", "gateway", "raised", "accepted"],
)
def test_what_may_have_been_executed_is_asked_of_nobody_else(order, fake, spare, answer):
    fake.submits = [answer]
    job = order()
    working.advance(job.pk)
    assert len(find_calls(job)) == 1
    assert spare.sent == []


@pytest.mark.parametrize("answer", [NoAnswer(Cause("provider", http=500)), Running("processing")])
def test_a_poll_that_says_nothing_asks_nobody_else(order, spare, answer, settings):
    job = order()
    working.advance(job.pk)
    polled(job, answer)
    Call.objects.update(deadline_at=timezone.now())
    polled(job, answer)
    assert asked(job) == ["fake accepted"]
    assert ends(job)[0] == "in_doubt"


def test_without_a_fallback_the_job_fails_with_its_slot_back(order, fake):
    fake.submits = [DOWN]
    job = order()
    working.advance(job.pk)
    assert ends(job) == ("failed", "provider", "failed")
    assert rows.again(job).attempt.cost_nothing


def test_a_confirmed_failure_that_cost_nothing_is_asked_of_another(order, spare):
    job = order()
    working.advance(job.pk)
    polled(job, Failed(Cause("provider"), Decimal(0)))
    assert asked(job) == ["fake failed", "spare accepted"]
    assert find_calls(job)[1].after_rule == "failed_for_nothing"


@pytest.mark.parametrize("cost", [Decimal("5.00"), None])
def test_a_failure_that_was_or_may_have_been_billed_ends_the_job(order, spare, cost):
    job = order()
    working.advance(job.pk)
    polled(job, Failed(Cause("no_output"), cost))
    assert asked(job) == ["fake failed"]
    assert ends(job) == ("failed", "no_output", "failed")
    assert not rows.again(job).attempt.cost_nothing


def test_a_billed_failure_is_asked_of_another_under_the_setting(order, spare, settings):
    settings.FALLBACK_AFTER_BILLED = True
    job = order()
    working.advance(job.pk)
    polled(job, Failed(Cause("provider"), Decimal("5.00")))
    assert asked(job) == ["fake failed", "spare accepted"]
    assert find_calls(job)[1].after_rule == "failed_billed"


def test_an_attempt_remembers_what_an_earlier_call_of_it_cost(order, spare, settings):
    settings.FALLBACK_AFTER_BILLED = True
    spare.submits = [DOWN]
    job = order()
    working.advance(job.pk)
    polled(job, Failed(Cause("provider"), Decimal("5.00")))
    assert ends(job) == ("failed", "provider", "failed")
    assert not rows.again(job).attempt.cost_nothing


def test_nobody_else_is_asked_for_one_who_stopped_waiting(order, fake, spare):
    job = order()
    working.advance(job.pk)
    Job.objects.update(unwanted_at=timezone.now())
    polled(job, Failed(Cause("provider"), Decimal(0)))
    assert ends(job) == ("failed", "unwanted", "failed")
    assert spare.sent == []


def test_the_picture_of_a_fallback_says_who_made_it_and_why(order, fake, spare):
    fake.submits = [DOWN]
    job = order()
    working.advance(job.pk)
    assert "Sent to spare, brush-2 because fake, brush-1 was unavailable." in said(job)
    polled(job, made())
    assert ends(job) == ("ready", "", "success")
    assert "Made with spare, brush-2 because fake, brush-1 was unavailable." in said(job)
    assert build_panel(rows.again(job))["maker"] == find_calls(job)[1]


def test_a_bad_key_pauses_the_provider_for_the_next_job_with_an_alert(order, fake, spare):
    fake.submits = [BAD_KEY]
    first, second = order(), order()
    working.advance(first.pk)
    working.advance(second.pk)
    assert asked(first) == ["fake rejected", "spare accepted"]
    assert asked(second) == ["spare accepted"]
    assert find_calls(second)[0].after_rule == "paused"
    assert "because fake, brush-1 rejected this site's account" in said(second)
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject, alert.closed_at) == (AlertKind.PROVIDER_PAUSED, "fake", None)


def test_the_alert_closes_when_the_provider_takes_requests_again(order, fake, clock, settings):
    fake.submits = [BAD_KEY]
    working.advance(order().pk)
    clock.shift(settings.EXHAUSTED_PAUSE)
    working.advance(order(at=timezone.now()).pk)
    assert Alert.objects.get().closed_at == timezone.now()


def test_without_a_fallback_a_job_for_an_exhausted_provider_fails_at_once(order, fake):
    fake.submits = [BAD_KEY]
    first, second = order(), order()
    working.advance(first.pk)
    working.advance(second.pk)
    assert ends(second) == ("failed", "auth", "failed")
    assert len(fake.sent) == 1


def test_a_busy_provider_is_waited_for_and_the_place_is_kept(order, fake, clock):
    fake.submits = [BUSY]
    first, second = order(), order()
    working.advance(first.pk)
    working.advance(second.pk)
    assert ends(first)[0] == ends(second)[0] == "queued"
    assert len(fake.sent) == 1
    clock.shift(timedelta(seconds=30))
    working.advance(first.pk)
    working.advance(second.pk)
    assert asked(first) == ["fake rejected", "fake accepted"]
    assert asked(second) == ["fake accepted"]


def test_the_wait_ends_with_the_slot_back(order, fake, clock, settings):
    fake.submits = [BUSY] * 100
    job, waiting = order(), order()
    for _ in range(100):
        for each in (job, waiting):
            working.advance(each.pk)
        clock.shift(timedelta(seconds=5))
        if timezone.now() > job.created_at + settings.POOL_WAIT + timedelta(seconds=40):
            break
    assert ends(job) == ends(waiting) == ("failed", "rate", "failed")
    assert rows.again(waiting).attempt.cost_nothing


def test_the_wait_ends_also_where_everybody_is_busy(order, fake, spare, clock, settings):
    fake.submits, spare.submits = [BUSY] * 100, [BUSY] * 100
    job = order()
    while timezone.now() <= job.created_at + settings.POOL_WAIT + timedelta(seconds=40):
        working.advance(job.pk)
        clock.shift(timedelta(seconds=5))
    assert ends(job) == ("failed", "rate", "failed")


def test_a_429_is_never_repeated_within_a_request(order, fake):
    fake.submits = [BUSY]
    working.advance(order().pk)
    assert len(fake.sent) == 1


def test_who_was_busy_is_asked_again_when_the_fallback_refuses(order, fake, spare, clock):
    fake.submits, spare.submits = [BUSY], [BAD_KEY]
    job = order()
    working.advance(job.pk)
    assert asked(job) == ["fake rejected", "spare rejected"]
    assert ends(job)[0] == "queued"
    clock.shift(timedelta(seconds=30))
    working.advance(job.pk)
    assert asked(job) == ["fake rejected", "spare rejected", "fake accepted"]


@pytest.fixture
def capped(fake, settings):
    account = replace(ACCOUNT, daily_cap=(Decimal("5.00"), "RUB"))
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"fake": account}


def test_a_spent_budget_fails_the_job_and_says_when_it_renews(order, capped):
    first, second = order(), order()
    working.advance(first.pk)
    working.advance(second.pk)
    assert ends(second) == ("failed", "cap", "failed")
    assert "The budget renews at" in said(second)
    assert find_calls(second) == []


def test_a_spent_budget_is_no_matter_where_a_fallback_has_one(order, spare, capped):
    first, second = order(), order()
    working.advance(first.pk)
    working.advance(second.pk)
    assert asked(second) == ["spare accepted"]
    assert "had used up its daily budget" in said(second)


def test_a_job_whose_fallback_left_the_settings_ends(order, fake, spare, settings):
    fake.submits = [BAD_KEY]
    spare.submits = [BUSY]
    job = order()
    working.advance(job.pk)
    settings.IMAGE_FALLBACK = []
    Stage.objects.update(due_at=timezone.now())
    working.advance(job.pk)
    assert ends(job) == ("failed", "rate", "failed")


def without(settings, provider: str) -> None:
    known = settings.PROVIDER_ACCOUNTS.items()
    settings.PROVIDER_ACCOUNTS = {name: account for name, account in known if name != provider}


def test_a_job_whose_provider_left_the_settings_ends_with_its_slot_back(order, settings):
    job = order()
    without(settings, "fake")
    working.advance(job.pk)
    assert ends(job) == ("failed", "config", "failed")


def test_a_job_whose_provider_left_the_settings_is_asked_of_the_fallback(order, spare, settings):
    job = order()
    without(settings, "fake")
    working.advance(job.pk)
    assert asked(job) == ["spare accepted"]


def test_a_paid_picture_is_fetched_although_its_provider_left_the_settings(order, settings):
    job = order()
    working.advance(job.pk)
    incoming.apply(find_calls(job)[0], made(), timezone.now())
    without(settings, "fake")
    working.advance(job.pk)
    assert ends(job) == ("ready", "", "success")


def test_an_early_id_is_asked_about_when_the_answer_is_lost(order, fake):
    fake.early_ids, fake.submits = ["run-early"], [Unknown(Cause("transport", rule="lost"))]
    job = order()
    working.advance(job.pk)
    assert (asked(job), find_calls(job)[0].reference) == (["fake accepted"], "run-early")
    polled(job, made())
    assert ends(job) == ("ready", "", "success")


def test_an_early_id_outweighs_an_error_of_the_server(order, fake, spare):
    fake.early_ids, fake.submits = ["run-early"], [DOWN]
    job = order()
    working.advance(job.pk)
    assert asked(job) == ["fake accepted"]


def test_an_early_id_of_another_call_is_not_taken(order, fake):
    fake.early_ids = ["run-1", "run-1"]
    fake.submits = [Accepted("run-1"), Unknown(Cause("transport", rule="lost"))]
    first, second = order(), order()
    working.advance(first.pk)
    working.advance(second.pk)
    assert [find_calls(job)[0].reference for job in (first, second)] == ["run-1", None]
    assert ends(second)[0] == "in_doubt"


def test_a_sender_that_died_after_the_headers_leaves_an_id(order, fake):
    job = order()
    working.advance(job.pk)
    Call.objects.update(state="sending", accepted_at=None)
    call = find_calls(job)[0]
    ledger.record(
        call_id=call.pk, news=Unknown(Cause("transport", rule="sender_lost")), now=timezone.now()
    )
    assert asked(job) == ["fake accepted"]


def test_a_fault_that_was_asked_for_says_nothing_about_the_provider(order, fake):
    fake.submits = [BAD_KEY]
    job = order()
    Job.objects.update(params=job.params | {"fault": "http_401"})
    working.advance(job.pk)
    assert ends(job) == ("failed", "auth", "failed")
    assert not Gate.objects.filter(exhausted_until__isnull=False).exists()
    assert not Alert.objects.exists()


def test_a_fault_is_asked_of_the_chosen_provider_alone(order, fake, spare):
    fake.submits = [BAD_KEY]
    job = order()
    Job.objects.update(params=job.params | {"fault": "http_401"})
    working.advance(job.pk)
    assert [request.fault for request in (*fake.sent, *spare.sent)] == ["http_401", ""]


def test_a_model_of_the_fallback_is_asked_for_by_its_own_name(order, fake, spare):
    fake.submits = [DOWN]
    working.advance(order().pk)
    assert [request.model for request in (*fake.sent, *spare.sent)] == [OFFER.model, SPARE.model]


def test_a_gate_that_opens_by_hand_lets_the_waiting_in(order, fake, clock):
    fake.submits = [Rejected(Cause("rate", rule="too_many", http=429, retry_after=120.0))]
    first, second = order(), order()
    working.advance(first.pk)
    working.advance(second.pk)
    gates.resume("fake")
    Stage.objects.update(due_at=timezone.now())
    working.advance(second.pk)
    assert asked(second) == ["fake accepted"]
