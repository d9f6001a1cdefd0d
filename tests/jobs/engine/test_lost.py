"""Lost submits: what the ticker asks for, and what becomes of the job by each answer."""

import threading
from concurrent.futures import wait
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.core.models import Job
from jobs.engine import incoming
from jobs.engine.recovery import follow
from jobs.panels import build_panel
from jobs.processes.ticker import Ticker, tick_once_if_alone
from providers.calls import ledger
from providers.calls.models import Call, Gate
from providers.outcomes import Accepted, Cause, Listing, NoAnswer, Rejected, Run, Unknown
from providers.recovery import SKEW, WIDE
from tests import working
from tests.fakes import ACCOUNT, OFFER, made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

LOST = Unknown(Cause("transport", rule="lost"))
SECOND = timedelta(seconds=1)
LAG = 10 * SECOND


@pytest.fixture(autouse=True)
def word(fake, settings):
    """The operator's word about the fake provider's key."""

    def give(*, exclusive=True, lag=LAG, key="the-key"):
        account = replace(ACCOUNT, key=key, key_exclusive=exclusive, list_lag=lag)
        settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"fake": account}

    give()
    return give


@pytest.fixture
def lose(order, fake):
    """Orders a picture and loses the answer to its submit, whatever was lost before: others were
    on their way when the gate was shut."""

    def send(news=LOST) -> Job:
        Gate.objects.all().delete()
        fake.submits = [news]
        job = order(at=timezone.now())
        working.advance(job.pk)
        return job

    return send


def ran(fake, *references: str) -> None:
    """The provider's list shows runs that began now."""
    fake.runs += [Run(reference, OFFER.model, timezone.now()) for reference in references]


def look(ticker: Ticker, clock, after: timedelta = 40 * SECOND) -> None:
    """Some time later one tick, and what it asked was answered."""
    clock.shift(after)
    ticker.tick()
    wait([*ticker.polls, *ticker.searches.running], timeout=60)
    ticker.collect()


def is_over() -> timedelta:
    """From sending until a call may be called not executed."""
    call = Call.objects.latest("pk")
    return call.answer_by - call.sent_at + LAG + SKEW


def call_of(job: Job) -> Call:
    return Call.objects.of_work(f"image:{job.pk}").latest("pk")


def ends(job: Job) -> tuple[str, str]:
    job = Job.objects.select_related("attempt").get(pk=job.pk)
    return job.state, job.attempt.state


def said(job: Job) -> str:
    job = Job.objects.select_related("attempt").get(pk=job.pk)
    return " ".join(build_panel(job)["sentences"])


def test_a_lost_submit_is_found_polled_and_delivered(lose, fake, ticker, clock):
    job = lose()
    ran(fake, "run-lost")
    fake.polls["run-lost"] = made()
    look(ticker, clock)
    assert (call_of(job).state, call_of(job).reference) == ("accepted", "run-lost")
    assert ends(job) == ("running", "pending")
    look(ticker, clock)
    working.advance(job.pk)
    assert ends(job) == ("ready", "success")
    assert len(fake.sent) == 1


def test_the_list_is_asked_for_around_the_call(lose, fake, ticker, clock):
    job = lose()
    look(ticker, clock)
    ((since, until),) = fake.listed
    assert since == call_of(job).sent_at - WIDE
    assert until == timezone.now() + SKEW


def test_what_was_not_executed_gives_its_slot_back(lose, ticker, clock):
    job = lose()
    look(ticker, clock, is_over())
    assert ends(job) == ("failed", "failed")
    call = call_of(job)
    assert (call.state, call.why, call.rule, call.cost) == (
        "rejected",
        "transport",
        "not_executed",
        0,
    )


def test_what_was_not_executed_is_asked_of_another(lose, spare, ticker, clock):
    job = lose()
    look(ticker, clock, is_over())
    assert ends(job) == ("queued", "pending")
    working.advance(job.pk)
    assert (call_of(job).provider, call_of(job).after_rule) == ("spare", "not_executed")


def test_a_moment_too_early_it_stays_in_doubt(lose, spare, ticker, clock):
    job = lose()
    look(ticker, clock, is_over() - SECOND)
    assert ends(job) == ("in_doubt", "pending")
    assert call_of(job).last_answer == "cannot tell: too_early"


def test_a_list_asked_for_too_early_says_nothing_later(lose, fake, clock):
    job = lose()
    early = Listing((), asked_at=timezone.now())
    clock.shift(2 * is_over())
    follow(call_of(job), early, timezone.now())
    assert ends(job) == ("in_doubt", "pending")


def test_where_the_lag_is_unknown_nothing_is_called_not_executed(lose, word, ticker, clock):
    word(lag=None)
    job = lose()
    look(ticker, clock, 2 * is_over())
    assert ends(job) == ("in_doubt", "pending")
    assert call_of(job).last_answer == "cannot tell: lag_unknown"


def test_a_run_that_the_list_shows_late_is_found(lose, fake, ticker, clock):
    job = lose()
    began_at = timezone.now()
    look(ticker, clock)
    assert ends(job) == ("in_doubt", "pending")
    fake.runs = [Run("run-lost", OFFER.model, began_at)]
    look(ticker, clock)
    assert call_of(job).reference == "run-lost"


def test_a_list_that_fails_is_asked_for_again(lose, fake, ticker, clock):
    job = lose()
    ran(fake, "run-lost")
    fake.listing = NoAnswer(Cause("provider", http=500))
    look(ticker, clock, 2 * is_over())
    assert ends(job) == ("in_doubt", "pending")
    assert call_of(job).last_answer == "cannot tell: list_failed"
    fake.listing = None
    look(ticker, clock)
    assert call_of(job).reference == "run-lost"


def test_an_adapter_that_raises_is_a_list_that_fails(lose, fake, ticker, clock, monkeypatch):
    job = lose()
    monkeypatch.setattr(fake, "runs_between", lambda since, until: 1 / 0)
    look(ticker, clock, 2 * is_over())
    assert call_of(job).last_answer == "cannot tell: list_failed"


def test_no_list_is_asked_for_unless_the_key_is_ours_alone(lose, word, fake, ticker, clock):
    word(exclusive=False)
    job = lose()
    ran(fake, "run-lost")
    look(ticker, clock, 2 * is_over())
    assert fake.listed == []
    assert ends(job) == ("in_doubt", "pending")
    assert call_of(job).last_answer == "cannot tell: not_exclusive"


def test_with_a_new_key_no_list_is_asked_for_what_the_old_one_sent(lose, word, fake, ticker, clock):
    job = lose()
    word(key="a new key")
    look(ticker, clock, 2 * is_over())
    assert fake.listed == []
    assert ends(job) == ("in_doubt", "pending")
    assert call_of(job).last_answer == "cannot tell: other_key"


def test_the_word_given_later_finds_what_was_lost_before(lose, word, fake, ticker, clock):
    word(exclusive=False)
    job = lose()
    ran(fake, "run-lost")
    look(ticker, clock)
    word()
    look(ticker, clock)
    assert call_of(job).reference == "run-lost"


def test_the_page_says_that_we_look_where_we_do(lose, word):
    job = lose()
    assert "We look for the picture in its list every 30 seconds. If we find it" in said(job)
    word(exclusive=False)
    assert "The provider gave us no reference, so we cannot check." in said(job)


@pytest.mark.parametrize("runs", [("run-1",), ("run-1", "run-2")])
def test_of_two_that_were_lost_nobody_gets_a_run(lose, fake, ticker, clock, runs):
    jobs = [lose(), lose()]
    ran(fake, *runs)
    look(ticker, clock, 2 * is_over())
    assert [ends(job) for job in jobs] == [("in_doubt", "pending")] * 2
    assert {call_of(job).last_answer for job in jobs} == {"cannot tell: ambiguous"}


def test_one_that_was_lost_gets_none_of_two_runs(lose, fake, ticker, clock):
    job = lose()
    ran(fake, "run-1", "run-2")
    look(ticker, clock, 2 * is_over())
    assert ends(job) == ("in_doubt", "pending")


def test_one_beside_a_servers_own_error_gets_nothing(lose, fake, ticker, clock):
    refused = lose(Rejected(Cause("provider", rule="own_enqueue_error", http=500)))
    job = lose()
    ran(fake, "run-1")
    look(ticker, clock, 2 * is_over())
    assert ends(refused) == ("failed", "failed")
    assert ends(job) == ("in_doubt", "pending")


def test_one_beside_a_call_that_was_given_up_gets_nothing(lose, fake, ticker, clock):
    given_up, job = lose(), lose()
    ran(fake, "run-1")
    incoming.give_up(call_of(given_up), timezone.now())
    look(ticker, clock, 2 * is_over())
    assert ends(given_up) == ("not_confirmed", "pending")
    assert ends(job) == ("in_doubt", "pending")


def test_one_beside_a_sender_waits_for_it(lose, fake, ticker, clock, now):
    job = lose()
    ran(fake, "run-1")
    sending = ledger.open_call(work="image:another", offer=OFFER, now=now)
    look(ticker, clock)
    assert call_of(job).last_answer == "cannot tell: sending"
    ledger.record(call_id=sending.pk, news=Accepted("run-2"), now=timezone.now())
    look(ticker, clock)
    assert call_of(job).reference == "run-1"


def test_the_other_is_adopted_once_one_has_its_id(lose, fake, ticker, clock):
    """As a webhook brings it, or the sender that was taken for lost."""
    first, second = lose(), lose()
    ran(fake, "run-1", "run-2")
    look(ticker, clock)
    incoming.apply(call_of(second), Accepted("run-2"), timezone.now())
    look(ticker, clock)
    assert call_of(first).reference == "run-1"


def test_the_other_is_adopted_once_a_given_up_call_has_its_id(lose, fake, ticker, clock):
    first, second = lose(), lose()
    ran(fake, "run-1", "run-2")
    incoming.give_up(call_of(second), timezone.now())
    look(ticker, clock)
    assert ends(first) == ("in_doubt", "pending")
    incoming.apply(call_of(second), Accepted("run-2"), timezone.now())
    look(ticker, clock)
    assert call_of(first).reference == "run-1"


def test_a_given_up_call_adopts_nothing(lose, fake, ticker, clock):
    job = lose()
    call = call_of(job)
    ran(fake, "run-1")
    incoming.give_up(call, timezone.now())
    look(ticker, clock)
    follow(call, Listing(tuple(fake.runs), timezone.now()), timezone.now())
    call.refresh_from_db()
    assert (call.state, call.reference, call.late_outcome) == ("given_up", None, "")


def test_news_that_came_while_the_list_was_asked_for_stands(lose, fake, clock):
    job = lose()
    read_before = call_of(job)
    incoming.apply(read_before, Accepted("run-1"), timezone.now())
    clock.shift(2 * is_over())
    follow(read_before, Listing((), timezone.now()), timezone.now())
    follow(
        read_before,
        Listing((Run("run-9", OFFER.model, read_before.sent_at),), timezone.now()),
        timezone.now(),
    )
    assert (call_of(job).state, call_of(job).reference) == ("accepted", "run-1")


def test_a_result_that_comes_after_not_executed_is_delivered_and_told(lose, fake, ticker, clock):
    job = lose()
    look(ticker, clock, is_over())
    recorded = incoming.apply(call_of(job), made(), timezone.now())
    assert recorded.late
    working.advance(job.pk)
    assert ends(job) == ("ready", "failed")


def test_with_an_early_id_nothing_is_looked_for(order, fake, ticker, clock):
    fake.early_ids, fake.submits = ["run-early"], [LOST]
    job = order()
    working.advance(job.pk)
    look(ticker, clock)
    assert (fake.listed, fake.asked) == ([], ["run-early"])
    assert call_of(job).state == "accepted"


def test_looks_are_in_the_slow_lane_and_one_list_serves_all(lose, fake, ticker, clock, settings):
    jobs = [lose() for _ in range(3)]
    look(ticker, clock, settings.POLL_EVERY)
    assert len(fake.listed) == 1
    waits = [call_of(job).poll_at - timezone.now() for job in jobs]
    assert all(27 * SECOND <= wait <= 33 * SECOND for wait in waits)
    look(ticker, clock, 25 * SECOND)
    assert len(fake.listed) == 1


def test_an_account_is_asked_for_one_list_at_a_time(lose, fake, ticker, clock, monkeypatch):
    listed, answer = fake.runs_between, threading.Event()
    monkeypatch.setattr(
        fake, "runs_between", lambda since, until: answer.wait(60) and listed(since, until)
    )
    lose()
    clock.shift(40 * SECOND)
    ticker.tick()
    lose()
    clock.shift(40 * SECOND)
    ticker.tick()
    assert len(ticker.searches.running) == 1
    answer.set()
    wait(ticker.searches.running, timeout=60)
    ticker.collect()
    assert len(fake.listed) == 1


def test_one_bad_row_stops_no_other(lose, fake, ticker, clock):
    jobs = [lose(), lose()]
    Call.objects.filter(pk=call_of(jobs[0]).pk).update(work="image:no-uuid")
    look(ticker, clock, is_over())
    assert ends(jobs[1]) == ("failed", "failed")


def test_at_the_end_of_its_retention_it_is_given_up(lose, fake, ticker, clock, settings):
    job = lose()
    ran(fake, "run-1", "run-2")
    look(ticker, clock)
    look(ticker, clock, settings.LOST_RETENTION)
    assert ends(job) == ("not_confirmed", "pending")


def test_the_stand_in_looks_too(lose, fake, clock):
    job = lose()
    ran(fake, "run-lost")
    clock.shift(40 * SECOND)
    assert tick_once_if_alone()
    assert call_of(job).reference == "run-lost"


def test_two_who_decide_at_once_adopt_once(lose, fake, clock):
    job = lose()
    ran(fake, "run-1")
    call, listing = call_of(job), Listing(tuple(fake.runs), timezone.now())
    for _ in range(2):
        follow(call, listing, timezone.now())
    events = Job.objects.get(pk=job.pk).events.values_list("name", flat=True)
    assert list(events).count("accepted") == 1
