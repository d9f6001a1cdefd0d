"""The whole matrix of a job's states, against the rows themselves."""

import itertools

import pytest

from jobs.core import transitions
from jobs.core.models import OPEN_STATES, Event, Job
from jobs.core.states import ENDS, OPEN, SOURCES, JobState

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("source", "target"), list(itertools.product(JobState, JobState)))
def test_a_job_moves_only_as_the_table_allows(order, now, source, target):
    job = order()
    Job.objects.update(
        state=source, reason="x", ended_at=now if source in ENDS else None, version=7
    )
    Event.objects.all().delete()
    moved = transitions.apply(job.pk, target, event="moved", now=now, reason="x")
    job.refresh_from_db()
    assert moved is (source in SOURCES[target])
    assert job.state == (target if moved else source)
    assert job.version == (8 if moved else 7)
    assert Event.objects.count() == (1 if moved else 0)
    assert (job.ended_at is not None) is (job.state in ENDS)


def test_the_states_that_an_index_names_are_the_open_ones():
    assert set(OPEN_STATES) == OPEN == set(JobState) - ENDS
