"""What the supervisor believes of the database's answers."""

import time
from types import SimpleNamespace

import pytest
from django.db import OperationalError

from config.supervisor.questions import FRESH_FOR, NOTHING, Questions


@pytest.fixture
def engine(monkeypatch):
    """The engine's own three answers, in the hands of the test."""
    says = SimpleNamespace(busy=lambda: 2, wedged=lambda now: True, ticks=lambda now: False)
    monkeypatch.setattr("jobs.core.leases.busy_workers", lambda: says.busy())
    monkeypatch.setattr("jobs.core.heartbeats.cluster_is_wedged", lambda now: says.wedged(now))
    monkeypatch.setattr("jobs.core.heartbeats.ticker_is_alive", lambda now: says.ticks(now))
    return says


def test_nothing_is_believed_before_the_first_answer():
    assert Questions().answer() == NOTHING


def test_the_last_answer_is_believed(engine):
    questions = Questions()
    questions.ask_once()
    answer = questions.answer()
    assert (answer.busy_workers, answer.cluster_is_wedged, answer.ticker_is_silent) == (
        2,
        True,
        True,
    )


def test_an_old_answer_is_not(engine, monkeypatch):
    questions = Questions()
    questions.ask_once()
    later = time.monotonic() + FRESH_FOR
    monkeypatch.setattr(
        "config.supervisor.questions.time", SimpleNamespace(monotonic=lambda: later)
    )
    assert questions.answer() == NOTHING


@pytest.mark.django_db
def test_a_database_that_is_away_is_no_wedge(engine):
    def away():
        raise OperationalError("the server closed the connection")

    engine.busy = away
    questions = Questions()
    questions.ask_once()
    assert questions.answer() == NOTHING
