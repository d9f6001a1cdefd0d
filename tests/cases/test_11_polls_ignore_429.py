"""A 429 to a poll slows all polls of its account, and proves nothing about the run."""

from concurrent.futures import wait
from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs.core.models import Job
from jobs.processes.ticker import Ticker, tick_once_if_alone
from providers.calls.models import Call, Gate
from providers.outcomes import Cause, NoAnswer, Running, Unknown
from providers.wire.retry_after import LONGEST
from tests import working
from tests.fakes import ACCOUNT, SPARE, made
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

SECOND = timedelta(seconds=1)


def too_many(retry_after=None):
    return NoAnswer(Cause("rate", http=429, retry_after=retry_after))


@pytest.fixture
def exclusive(fake, settings):
    """The key is declared exclusive, so lost submits may be looked for in the provider's list."""
    account = replace(ACCOUNT, key="the-key", key_exclusive=True)
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"fake": account}


@pytest.fixture
def accepted(order, account):
    """accepted(3) are three jobs whose calls are polled as run-1, run-2, run-3."""

    def open_some(count):
        account.plan.allowances.update(slots=500)
        jobs = [order() for _ in range(count)]
        for job in jobs:
            working.advance(job.pk)
        return jobs

    return open_some


@pytest.fixture
def go_on(ticker, clock, fake):
    """go_on(30) ticks each second for so long; the ids that were polled meanwhile."""

    def ticks(seconds, by=1):
        before = len(fake.asked)
        for _ in range(int(seconds / by)):
            clock.shift(by)
            ticker.tick()
            wait([*ticker.polls, *ticker.searches.running], timeout=60)
            ticker.collect()
        return fake.asked[before:]

    return ticks


def polls_resume_after():
    return Gate.objects.get(provider="fake", model="").polls_paused_until - timezone.now()


def test_no_call_of_the_account_is_polled_until_the_stated_time(accepted, go_on, fake):
    accepted(5)
    fake.polls["run-1"] = too_many(30)
    assert "run-1" in go_on(4)
    fake.asked.clear()
    assert go_on(26) == []
    fake.polls["run-1"] = Running("processing")
    assert set(go_on(15)) == {f"run-{number}" for number in range(1, 6)}


def test_calls_that_are_accepted_meanwhile_wait_as_well(accepted, go_on, fake):
    accepted(1)
    fake.polls["run-1"] = too_many(30)
    go_on(4)
    accepted(1)
    assert go_on(20) == []


@pytest.mark.usefixtures("exclusive")
def test_lists_wait_as_well(accepted, go_on, fake, settings):
    settings.SLOW_POLL_EVERY = 5 * SECOND
    accepted(1)
    fake.submits = [Unknown(Cause("transport"))]
    accepted(1)
    go_on(4)
    assert fake.listed
    fake.polls["run-1"] = too_many(60)
    go_on(4)
    fake.listed.clear()
    go_on(50)
    assert fake.listed == []


@pytest.mark.usefixtures("exclusive")
def test_a_list_that_is_refused_slows_polls(accepted, go_on, fake):
    fake.submits, fake.listing = [Unknown(Cause("transport"))], too_many(30)
    accepted(2)
    go_on(4)
    assert fake.listed
    assert go_on(20) == []


def test_another_account_is_polled_on(accepted, go_on, fake, spare):
    accepted(2)
    Call.objects.filter(reference="run-2").update(provider=SPARE.provider)
    fake.polls["run-1"] = too_many(30)
    go_on(4)
    spare.asked.clear()
    go_on(20)
    assert len(spare.asked) >= 5


@pytest.mark.parametrize("stated", [None, 0.0])
def test_without_a_time_the_pauses_grow(accepted, go_on, fake, stated):
    accepted(1)
    fake.polls["run-1"] = too_many(stated)
    go_on(4, by=4)
    pauses = [polls_resume_after() / SECOND]
    while len(pauses) < 8:
        until_resumed = pauses[-1] * 1.25 + 4
        go_on(until_resumed, by=until_resumed)
        pauses.append(polls_resume_after() / SECOND)
    assert pauses == [6, 12, 24, 48, 96, 120, 120, 120]


def test_a_good_answer_begins_the_steps_anew(accepted, go_on, fake):
    accepted(1)
    fake.polls["run-1"] = too_many()
    go_on(30)
    fake.polls["run-1"] = Running("processing")
    go_on(60)
    assert Gate.objects.get(provider="fake", model="").poll_pauses == 0
    fake.polls["run-1"] = too_many()
    while not go_on(1):
        pass
    assert polls_resume_after() == 6 * SECOND


def test_answers_that_were_on_their_way_together_are_one_step(accepted, go_on, fake):
    accepted(20)
    fake.polls = dict.fromkeys([f"run-{number}" for number in range(1, 21)], too_many())
    go_on(4)
    assert Gate.objects.get(provider="fake", model="").poll_pauses == 1


def test_a_pause_is_never_longer_than_the_longest(accepted, go_on, fake):
    accepted(1)
    fake.polls["run-1"] = too_many(9_999_999_999)
    go_on(4)
    assert polls_resume_after() <= LONGEST * SECOND


def test_polls_that_wait_in_the_pool_are_not_sent(accepted, ticker, clock, fake, settings):
    settings.POLL_THREADS = 1
    alone = Ticker()
    accepted(20)
    fake.polls = dict.fromkeys([f"run-{number}" for number in range(1, 21)], too_many(30))
    clock.shift(4)
    alone.tick()
    wait(list(alone.polls), timeout=60)
    alone.close()
    assert len(fake.asked) == 1


def test_a_new_ticker_and_the_stand_in_keep_the_pause(accepted, go_on, ticker, fake, clock):
    accepted(3)
    fake.polls["run-1"] = too_many(60)
    go_on(4)
    ticker.close()
    fake.asked.clear()
    clock.shift(30)
    assert tick_once_if_alone()
    assert fake.asked == []


def test_nothing_is_due_while_the_pause_lasts(accepted, go_on, fake):
    """Otherwise each round would read the same rows again."""
    accepted(5)
    fake.polls["run-1"] = too_many(30)
    go_on(8)
    assert not Call.objects.due(timezone.now() + 20 * SECOND).exists()


def test_polls_resume_spread(accepted, go_on, fake):
    accepted(20)
    fake.polls["run-1"] = too_many(100)
    go_on(8)
    times = sorted(Call.objects.values_list("poll_at", flat=True))
    assert times[-1] - times[0] > 10 * SECOND


def test_the_run_is_as_it_was_and_comes_later(accepted, go_on, fake):
    [job] = accepted(1)
    fake.polls["run-1"] = too_many(30)
    go_on(4)
    assert Job.objects.get(pk=job.pk).state == "running"
    fake.polls["run-1"] = made()
    go_on(45)
    working.advance(job.pk)
    assert Job.objects.get(pk=job.pk).state == "ready"


def test_submits_go_on(accepted, go_on, fake):
    accepted(1)
    fake.polls["run-1"] = too_many(30)
    go_on(4)
    accepted(1)
    assert len(fake.sent) == 2


@pytest.mark.parametrize("status", [500, 502, 503, 403])
def test_another_error_keeps_the_pace(accepted, go_on, fake, status):
    accepted(1)
    fake.polls["run-1"] = NoAnswer(Cause("provider", http=status, retry_after=30))
    assert len(go_on(30)) >= 7


def test_a_clock_that_was_set_back_ends_the_pause(accepted, go_on, fake, clock):
    accepted(1)
    fake.polls["run-1"] = too_many(100)
    go_on(4)
    clock.shift(timedelta(days=-1))
    Call.objects.update(poll_at=timezone.now())
    assert go_on(2) == ["run-1"]
    assert polls_resume_after() <= LONGEST * SECOND


def test_a_sender_that_died_is_noticed_while_polls_are_paused(accepted, go_on, fake):
    accepted(2)
    fake.polls["run-1"] = too_many(100)
    go_on(4)
    at = timezone.now()
    dead = Call.objects.filter(reference="run-2")
    dead.update(state="sending", reference=None, accepted_at=None, answer_by=at, poll_at=at)
    go_on(1)
    assert Call.objects.filter(rule="sender_lost").exists()


def test_staff_see_until_when_polls_pause(accepted, go_on, fake, staff_client):
    accepted(1)
    fake.polls["run-1"] = too_many(60)
    go_on(4)
    until = timezone.now() + polls_resume_after()
    page = staff_client.get(reverse("admin:providers_gate_changelist"))
    assert f"paused until {until:%d %b %H:%M:%S} UTC" in text_of(page)


def test_a_deadline_that_passes_in_a_pause_is_noticed(accepted, go_on, fake):
    [job] = accepted(1)
    fake.polls["run-1"] = too_many(100)
    go_on(4)
    Call.objects.update(deadline_at=timezone.now() + 30 * SECOND)
    Call.objects.update(poll_at=timezone.now())
    assert go_on(28) == []
    assert Job.objects.get(pk=job.pk).state == "running"
    assert go_on(4) == []
    assert Job.objects.get(pk=job.pk).state == "in_doubt"
