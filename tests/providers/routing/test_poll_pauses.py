"""Pauses of polls, as rows: which answer begins, lengthens and ends them."""

from datetime import timedelta

import pytest

from providers.calls.models import Gate
from providers.routing import poll_pauses

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)


@pytest.fixture
def start(now):
    """start(10, retry_after=30): a poll that was sent at 10 s is refused a second later."""

    def refuse(sent, retry_after=None):
        polled_at = now + sent * SECOND
        at = polled_at + SECOND
        return poll_pauses.start("polza", polled_at=polled_at, now=at, retry_after=retry_after)

    return refuse


@pytest.fixture
def paused_for(now):
    """How many seconds after `now` the pause ends."""
    return lambda: (Gate.objects.get().polls_paused_until - now) / SECOND


def test_a_longer_time_of_an_answer_that_was_on_its_way_counts(start, paused_for):
    assert start(0, 10)
    assert start(0, 50)
    assert not start(0, 20)
    assert not start(0)
    assert (paused_for(), Gate.objects.get().poll_pauses) == (51, 1)


def test_a_refusal_after_the_pause_is_the_next_step(start, paused_for):
    start(0)
    start(7)
    assert (paused_for(), Gate.objects.get().poll_pauses) == (20, 2)


def test_an_answer_that_was_on_its_way_ends_no_steps(start, now):
    start(0, 10)
    poll_pauses.end_steps("polza", polled_at=now + 5 * SECOND)
    assert Gate.objects.get().poll_pauses == 1
    poll_pauses.end_steps("polza", polled_at=now + 12 * SECOND)
    assert Gate.objects.get().poll_pauses == 0


def test_a_good_answer_writes_nothing_without_a_pause(now, django_assert_num_queries):
    with django_assert_num_queries(1):
        poll_pauses.end_steps("polza", polled_at=now)


def test_a_pause_of_polls_leaves_the_gate_open_for_submits(start):
    start(0, 30)
    assert not Gate.objects.get().is_paused
