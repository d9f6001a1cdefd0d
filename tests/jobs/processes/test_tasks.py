"""What a worker runs and django-q2's monitor acknowledges, while the database takes no writes."""

import uuid

import pytest
from django.db import InternalError, connection
from django.utils import timezone
from django_q.models import OrmQ

from jobs.core import heartbeats
from jobs.core.broker import DatabaseQueue
from jobs.core.models import Stage
from jobs.processes import tasks

pytestmark = pytest.mark.django_db


@pytest.fixture
def read_only(monkeypatch):
    """As after a failover: psycopg's error for a write becomes Django's InternalError."""
    monkeypatch.setattr(connection, "close", lambda: None)

    def refuse(execute, sql, *rest):
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            raise InternalError("cannot execute in a read-only transaction")
        return execute(sql, *rest)

    with connection.execute_wrapper(refuse):
        yield


@pytest.mark.parametrize(
    "task",
    [
        tasks.begin_smoke_tests,
        tasks.look_for_alarms,
        tasks.probe,
        tasks.remove_texts,
        tasks.stand_in_for_ticker,
        tasks.tidy,
        lambda: tasks.advance(1),
        lambda: tasks.send_notices(str(uuid.uuid4())),
        lambda: tasks.move_jobs(1),
    ],
)
def test_a_task_ends_well_for_the_queue(task, read_only, caplog, monkeypatch):
    monkeypatch.setitem(heartbeats._beaten, "worker", float("-inf"))
    task()
    assert "(InternalError); it is done later" in caplog.text
    assert "read-only" not in caplog.text


def test_a_message_of_the_version_before_does_nothing(order):
    """It names a job; the due query finds the job's stages."""
    job = order()
    tasks.advance(str(job.pk))
    stage = job.stages.get()
    assert (stage.tries, stage.lease_token) == (0, None)
    assert stage in Stage.objects.due(timezone.now())


def test_the_monitor_outlives_an_acknowledgement_that_fails(read_only, caplog):
    DatabaseQueue(list_key="q").acknowledge(1)
    assert "could not be acknowledged (InternalError)" in caplog.text


def test_an_acknowledged_message_is_gone():
    queue = DatabaseQueue(list_key="q")
    message = queue.enqueue("task")
    queue.acknowledge(message)
    assert not OrmQ.objects.exists()
