"""Orders: the same form is the same job, and a refused one leaves nothing behind."""

import pytest

from jobs.core.models import Event, Job, Stage
from quotas.ledger import Refused
from quotas.models import Attempt

pytestmark = pytest.mark.django_db


def test_an_order_takes_a_seat_and_is_due_at_once(order, now):
    job = order()
    assert (job.state, job.attempt.state, job.attempt.slot) == ("queued", "pending", 1)
    assert Stage.objects.get().due_at == now
    assert [event.name for event in Event.objects.all()] == ["reserved"]


def test_the_same_form_twice_is_one_job_and_one_seat(order):
    assert order("a fox", key="k").pk == order("a fox", key="k").pk
    assert Attempt.objects.count() == Job.objects.count() == 1


def test_a_changed_form_under_the_same_key_is_another_job(order):
    assert order("a fox", key="k").pk != order("a hare", key="k").pk


def test_a_full_day_is_refused_and_leaves_nothing(order):
    for _ in range(10):
        order()
    refused = order()
    assert isinstance(refused, Refused)
    assert refused.why == "full"
    assert Job.objects.count() == Attempt.objects.count() == Stage.objects.count() == 10


def test_a_queue_that_is_away_does_not_fail_the_order(
    order, monkeypatch, django_capture_on_commit_callbacks
):
    def away(*args):
        raise ConnectionError

    monkeypatch.setattr("jobs.core.queue.async_task", away)
    with django_capture_on_commit_callbacks(execute=True):
        job = order()
    assert Job.objects.get().pk == job.pk
