"""A job's version and its history change in one transaction, whoever dies between the two."""

import pytest
from django.db import connection

from jobs.core import transitions
from jobs.core.events import EventName
from jobs.core.models import Event
from jobs.core.states import JobState

pytestmark = pytest.mark.django_db


@pytest.fixture
def depths(order, monkeypatch):
    """How deep in transactions of the product each event was written, beside the test's own."""
    found: list[int] = []
    create, tests_own = Event.objects.create, len(connection.atomic_blocks)

    def write(**columns):
        found.append(len(connection.atomic_blocks) - tests_own)
        return create(**columns)

    monkeypatch.setattr(Event.objects, "create", write)
    return found


def test_a_note_is_written_with_its_version(order, depths, now):
    job = order()
    depths.clear()
    transitions.record_event(job.pk, event=EventName.FETCH_FAILED, now=now)
    assert depths == [1]


def test_a_move_is_written_with_its_event(order, depths, now):
    job = order()
    depths.clear()
    assert transitions.apply(job.pk, JobState.RUNNING, event=EventName.SENT, now=now)
    assert depths == [1]
