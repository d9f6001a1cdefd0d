"""The four steps, for a job in every state."""

from datetime import timedelta

import pytest

from jobs.pictures.words.steps import build_steps
from providers.outcomes import Accepted
from tests import rows

pytestmark = pytest.mark.django_db

EXPECTED = {
    "queued": ["done", "current", "waiting", "waiting"],
    "sending": ["done", "current", "waiting", "waiting"],
    "busy": ["done", "current", "waiting", "waiting"],
    "generating": ["done", "done", "current", "waiting"],
    "unwanted": ["done", "done", "current", "waiting"],
    "lost": ["done", "doubt", "waiting", "waiting"],
    "overdue": ["done", "done", "doubt", "waiting"],
    "silent": ["done", "done", "doubt", "waiting"],
    "saving": ["done", "done", "done", "current"],
    "ready": ["done", "done", "done", "done"],
    "deleted": ["done", "done", "done", "done"],
    "failed": ["done", "stopped", "waiting", "waiting"],
    "failed_billed": ["done", "done", "stopped", "waiting"],
    "not_fetched": ["done", "done", "done", "stopped"],
    "unread_result": ["done", "done", "done", "doubt"],
    "cancelled": ["done", "waiting", "waiting", "waiting"],
    "not_confirmed": ["done", "doubt", "waiting", "waiting"],
    "given_back": ["done", "stopped", "waiting", "waiting"],
    "ready_late": ["done", "done", "done", "done"],
}


def steps(job, now):
    return build_steps(job, job.events.order_by("pk"), now)


@pytest.mark.parametrize("make", rows.EVERY_STATE, ids=lambda make: make.__name__)
def test_states_of_the_steps(account, now, make):
    shown = steps(make(account, now), now + timedelta(minutes=1))
    assert [step.state for step in shown] == EXPECTED[make.__name__]


def test_steps_are_named(account, now):
    names = [step.name for step in steps(rows.queued(account, now), now)]
    assert names == ["reserved", "sent", "generating", "saving"]


def test_slot_is_told(account, now):
    rows.queued(account, now)
    assert steps(rows.queued(account, now), now)[0].detail == "2 of 10 for 14 Mar"


def test_each_step_says_how_long_it_took(account, now):
    shown = steps(rows.ready(account, now), now)
    assert [step.lasted for step in shown[1:]] == [timedelta(seconds=s) for s in (1, 3, 1)]


def test_running_step_counts_on(account, now):
    shown = steps(rows.generating(account, now), now + timedelta(seconds=62))
    assert shown[2].lasted == timedelta(seconds=60)
    assert shown[3].lasted is None


def test_failed_step_stops_its_clock(account, now):
    shown = steps(rows.failed_billed(account, now), now + timedelta(days=1))
    assert shown[2].lasted == timedelta(seconds=1)


def test_failed_step_says_why(account, now):
    shown = steps(rows.failed(account, now), now)
    assert shown[1].detail == "The provider refused this prompt because of its content rules."


def test_busy_provider_puts_the_sending_before_us_again(account, now):
    shown = steps(rows.busy(account, now), now)
    assert shown[1].detail == "The provider was busy"


def test_what_was_never_sent_waits_for_a_worker(account, now):
    shown = steps(rows.queued(account, now), now)
    assert shown[1].detail == "Waiting in the queue"


def test_second_sending_is_told_as_the_sending(account, now):
    job = rows.busy(account, now)
    rows._open_call(job, now + timedelta(seconds=10))
    job = rows.news(job, Accepted("gen_2"), now + timedelta(seconds=12))
    assert steps(job, now)[1].lasted == timedelta(seconds=2)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("fetch_failed", "We could not download the file yet. We will try again."),
        ("store_failed", "We could not save the file yet. We will try again."),
    ],
)
def test_trouble_with_the_file_is_told(account, now, event, says):
    job = rows.saving(account, now)
    job.events.create(name=event, at=now)
    assert steps(job, now)[3].detail == says


def test_job_without_a_slot_has_no_slot_to_tell(account, now):
    job = rows.queued(account, now)
    job.attempt = None
    assert steps(job, now)[0].detail == ""
