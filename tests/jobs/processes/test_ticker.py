"""The ticker: what it asks, what it decides without asking, and what it leaves alone."""

import threading
import uuid
from concurrent.futures import wait
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from jobs.core import heartbeats, holders, leases
from jobs.core.models import Heartbeat, Job, Stage
from jobs.engine import incoming
from jobs.processes.ticker import Ticker, follow_poll, tick_once_if_alone, wake_due
from providers.calls import ledger
from providers.calls.models import Call
from providers.outcomes import Cause, Failed, NoAnswer, Running, Unknown
from tests import working
from tests.adapter_limits import RETENTION
from tests.fakes import made

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(clock, order):
    """A job whose call was accepted as `run-1`."""
    job = order()
    working.advance(job.pk)
    return job


def round_of(ticker: Ticker) -> None:
    """One tick, and what the polls it sent have said."""
    ticker.tick()
    wait(list(ticker.polls), timeout=60)
    ticker.collect()


def leave_sending() -> None:
    """As a sender that died leaves its calls, when their answers are overdue."""
    at = timezone.now()
    times = {"answer_by": at, "poll_at": at}
    Call.objects.update(state="sending", reference=None, accepted_at=None, **times)


def state_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state


def test_a_call_is_asked_only_when_it_is_due(running, ticker, fake, clock, settings):
    round_of(ticker)
    assert fake.asked == []
    clock.shift(settings.POLL_EVERY)
    round_of(ticker)
    assert fake.asked == ["run-1"]


def test_a_finished_run_opens_the_saving(running, ticker, fake, clock, settings):
    fake.polls["run-1"] = made()
    clock.shift(settings.POLL_EVERY)
    round_of(ticker)
    working.advance(running.pk)
    assert state_of(running) == "ready"


def test_a_failed_run_gives_the_slot_back(running, ticker, fake, clock, settings):
    fake.polls["run-1"] = Failed(Cause("provider"), Decimal(0))
    clock.shift(settings.POLL_EVERY)
    round_of(ticker)
    assert state_of(running) == "failed"


@pytest.mark.parametrize("status", [404, 500, 502, 401])
def test_a_failed_poll_means_nothing(running, ticker, fake, clock, settings, status):
    fake.polls["run-1"] = NoAnswer(Cause("provider", http=status))
    clock.shift(settings.POLL_EVERY)
    round_of(ticker)
    assert state_of(running) == "running"
    assert Call.objects.get().poll_at > timezone.now()


def test_past_its_deadline_a_call_is_in_doubt_and_asked_more_slowly(
    running, ticker, fake, clock, settings
):
    clock.shift(settings.CALL_DEADLINE)
    round_of(ticker)
    assert state_of(running) == "in_doubt"
    wait_for_next = Call.objects.get().poll_at - timezone.now()
    assert wait_for_next >= settings.SLOW_POLL_EVERY * 0.9


def test_a_late_success_within_retention_is_delivered(running, ticker, fake, clock, settings):
    clock.shift(settings.CALL_DEADLINE)
    round_of(ticker)
    fake.polls["run-1"] = made()
    clock.shift(settings.SLOW_POLL_EVERY * 1.2)
    round_of(ticker)
    working.advance(running.pk)
    assert state_of(running) == "ready"


def test_at_the_end_of_retention_a_call_is_given_up(running, ticker, fake, clock, settings):
    clock.shift(RETENTION)
    round_of(ticker)
    clock.shift(ledger.ASKED_FOR)
    round_of(ticker)
    job = Job.objects.select_related("attempt").get(pk=running.pk)
    assert (job.state, job.attempt.state) == ("not_confirmed", "pending")
    assert Call.objects.get().state == "given_up"
    assert Call.objects.get().poll_at is None


def test_a_call_that_nobody_asked_for_until_its_retention_was_over_is_asked_for_first(
    running, ticker, fake, clock, settings
):
    fake.polls["run-1"] = made()
    clock.shift(RETENTION + timedelta(seconds=1))
    round_of(ticker)
    working.advance(running.pk)
    assert state_of(running) == "ready"


def test_a_lost_submit_is_given_up_after_its_own_retention(clock, order, fake, ticker, settings):
    fake.submits = [Unknown(Cause("transport"))]
    job = order()
    working.advance(job.pk)
    round_of(ticker)
    assert state_of(job) == "in_doubt"
    clock.shift(settings.LOST_RETENTION)
    round_of(ticker)
    assert state_of(job) == "not_confirmed"


def test_a_sender_that_never_reported_leaves_an_unknown(running, ticker, clock):
    leave_sending()
    round_of(ticker)
    assert Call.objects.get().rule == "sender_lost"
    assert state_of(running) == "in_doubt"


def test_one_bad_answer_stops_no_other(clock, order, ticker, fake, settings, monkeypatch):
    jobs = [order(), order()]
    for job in jobs:
        working.advance(job.pk)
    fake.polls = {"run-1": made(), "run-2": made()}
    first = Call.objects.get(reference="run-1")
    Call.objects.filter(pk=first.pk).update(work="image:no-uuid")
    clock.shift(settings.POLL_EVERY)
    round_of(ticker)
    assert Call.objects.get(reference="run-2").state == "succeeded"


@pytest.mark.parametrize("pursued_for", [timedelta(days=1), -timedelta(days=1)])
def test_a_call_that_cannot_be_decided_stops_no_other(clock, order, ticker, pursued_for):
    for _ in range(2):
        working.advance(order().pk)
    lost, other = Call.objects.order_by("pk")
    leave_sending()
    give_up_at = timezone.now() + pursued_for
    Call.objects.filter(pk=lost.pk).update(work="image:no-uuid", give_up_at=give_up_at)
    round_of(ticker)
    assert Call.objects.get(pk=other.pk).state == "unknown"
    assert Call.objects.get(pk=lost.pk).poll_at > timezone.now()


def test_a_call_whose_provider_left_the_settings_is_in_doubt(running, ticker, clock, settings):
    settings.PROVIDER_ACCOUNTS = {}
    clock.shift(settings.CALL_DEADLINE)
    round_of(ticker)
    assert state_of(running) == "in_doubt"
    assert Call.objects.get().last_answer == "no answer: not among the settings"


def test_an_old_answer_throws_no_doubt_on_a_call_that_ended(running, clock, settings):
    call = Call.objects.get()
    incoming.apply(call, made(), timezone.now())
    follow_poll(call, Running("processing"), call.deadline_at)
    assert state_of(running) == "running"


def test_only_one_ticker_has_the_duty(clock, ticker, settings):
    other = Ticker()
    assert ticker.tick()
    assert not other.tick()
    clock.shift(settings.TICKER_LEASE_LASTS)
    assert other.tick()
    assert not ticker._has_duty(timezone.now())
    other.close()


def test_the_duty_of_a_dead_process_is_taken_at_once(clock, ticker, monkeypatch):
    assert leases.take_duty("ticker", uuid.uuid4(), timezone.now(), timedelta(seconds=5))
    assert not ticker.tick()
    monkeypatch.setattr("jobs.core.holders.is_surely_dead", lambda holder: True)
    assert ticker.tick()


def test_a_clock_that_was_set_back_leaves_the_duty_with_one(clock, ticker):
    """Whoever has it takes it anew before another finds that it ends too late."""
    other = Ticker()
    assert ticker.tick()
    clock.shift(-timedelta(hours=2))
    assert ticker.tick()
    assert not other.tick()
    other.close()


def test_after_a_clock_was_set_back_another_takes_over(clock, ticker):
    assert leases.take_duty("ticker", uuid.uuid4(), timezone.now(), timedelta(seconds=5))
    clock.shift(-timedelta(minutes=2))
    assert ticker.tick()


def test_the_stand_in_leaves_a_living_ticker_alone(clock, running, ticker, fake, settings):
    ticker.tick()
    clock.shift(settings.POLL_EVERY)
    assert not tick_once_if_alone()
    assert fake.asked == []


def test_the_stand_in_polls_and_delivers_when_no_ticker_lives(clock, running, fake, settings):
    fake.polls["run-1"] = made()
    clock.shift(settings.POLL_EVERY)
    assert tick_once_if_alone()
    assert Call.objects.get().state == "succeeded"


def test_a_stage_whose_message_was_lost_is_woken(clock, order, enqueued, ticker, settings):
    job = order()
    enqueued.clear()
    ticker.tick()
    assert ("jobs.processes.tasks.advance", (job.stages.get().pk,)) not in enqueued
    clock.shift(settings.WAKE_AGAIN_AFTER)
    ticker.tick()
    assert ("jobs.processes.tasks.advance", (job.stages.get().pk,)) in enqueued


def test_the_lease_of_a_dead_worker_here_is_ended_at_once(clock, order, ticker, monkeypatch):
    job = order()
    working.take(job.pk, timezone.now())
    Stage.objects.update(lease_holder=holders.here() + "1/1/aa")
    monkeypatch.setattr("jobs.core.holders.is_surely_dead", lambda holder: True)
    ticker.free_dead(timezone.now())
    assert Stage.objects.get().leased_until == timezone.now()


def test_the_cluster_is_wedged_when_a_probe_stays_unanswered(clock, ticker, enqueued, settings):
    ticker.tick()
    assert ("jobs.processes.tasks.probe", ()) in enqueued
    clock.shift(timedelta(seconds=settings.PROBE_TIMEOUT + 1))
    assert heartbeats.cluster_is_wedged(timezone.now())
    Heartbeat.objects.filter(name="worker").update(beat_at=timezone.now())
    assert not heartbeats.cluster_is_wedged(timezone.now())


def test_a_busy_cluster_is_not_wedged(clock, ticker, order, enqueued, settings):
    settings.WORKERS = 1
    ticker.tick()
    clock.shift(timedelta(seconds=settings.PROBE_TIMEOUT + 1))
    assert working.take(order(at=timezone.now()).pk, timezone.now())
    assert not heartbeats.cluster_is_wedged(timezone.now())


@pytest.mark.parametrize("is_answered", [True, False])
def test_after_a_clock_was_set_back_the_cluster_is_asked_anew(clock, ticker, settings, is_answered):
    ticker.tick()
    if is_answered:
        Heartbeat.objects.filter(name="worker").update(beat_at=timezone.now())
    clock.shift(-timedelta(hours=1))
    assert not heartbeats.cluster_is_alive(timezone.now())
    ticker.tick()
    clock.shift(timedelta(seconds=settings.PROBE_TIMEOUT + 1))
    assert heartbeats.cluster_is_wedged(timezone.now())


def test_a_ticker_silent_since_before_a_clock_was_set_back_is_silent(clock):
    heartbeats.beat_now("ticker")
    clock.shift(-timedelta(hours=1))
    assert not heartbeats.ticker_is_alive(timezone.now())
    assert heartbeats.is_silent("ticker", timezone.now())


def test_machines_whose_clocks_differ_are_alive_to_each_other(clock):
    heartbeats.beat_now("ticker")
    clock.shift(-timedelta(minutes=4))
    assert heartbeats.ticker_is_alive(timezone.now())


def test_the_stand_in_does_not_pass_for_a_ticker(clock, running):
    assert tick_once_if_alone()
    assert not heartbeats.ticker_is_alive(timezone.now())


def test_a_ticker_that_runs_shows_signs_of_life(clock, running, ticker):
    stop = threading.Event()
    ticker.poll_due = lambda now: stop.set()
    ticker.run(stop)
    assert heartbeats.ticker_is_alive(timezone.now())


def test_what_was_never_put_into_the_queue_comes_before_what_waits_in_it(
    clock, order, enqueued, ticker, settings
):
    settings.WORKERS = 1
    waiting = [order(str(number)) for number in range(6)]
    clock.shift(settings.WAKE_AGAIN_AFTER)
    fresh = order("fresh", at=timezone.now())
    Stage.objects.filter(job=fresh).update(woken_at=None)
    enqueued.clear()
    wake_due(timezone.now())
    woken = [arguments[0] for task, arguments in enqueued]
    assert woken == [job.stages.get().pk for job in (fresh, *waiting[:3])]
