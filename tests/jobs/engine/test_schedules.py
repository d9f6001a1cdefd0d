"""The schedules are few and fixed; what is malformed is mended before it stops another."""

import importlib
from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler

from jobs.alerts import watch
from jobs.engine import schedules
from jobs.engine.schedules import PLANS
from jobs.processes.ticker import LOOK_AFTER, Ticker

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
MALFORMED: list[dict] = [
    {"args": "("},
    {"kwargs": "{"},
    {"func": "os.system"},
    {"hook": "nowhere.at.all"},
    {"schedule_type": Schedule.CRON, "cron": "nonsense"},
    {"minutes": None},
    {"minutes": 0},
    {"repeats": 0},
    {"cluster": "another"},
    {"intended_date_kwarg": "at"},
    {"next_run": None},
    {"schedule_type": Schedule.ONCE},
]


@pytest.fixture(autouse=True)
def _same_connection(monkeypatch):
    """The queue begins with new ones; that of the test holds its transaction."""
    monkeypatch.setattr("django_q.scheduler.close_old_django_connections", lambda: None)


def as_they_are() -> list[tuple]:
    columns = ("name", "func", "args", "kwargs", "schedule_type", "minutes", "repeats", "cluster")
    return list(Schedule.objects.order_by("name").values_list(*columns))


def fired() -> list[str]:
    """The tasks that the queue's own scheduler hands out when all are due."""
    Schedule.objects.update(next_run=timezone.now() - HOUR)
    OrmQ.objects.all().delete()
    scheduler()
    return sorted(message.task["func"] for message in OrmQ.objects.all())


def test_each_is_made_once():
    schedules.ensure()
    first = as_they_are()
    schedules.ensure()
    assert as_they_are() == first
    assert [row[0] for row in first] == sorted(plan.name for plan in PLANS)


def test_each_is_due_within_minutes():
    schedules.ensure()
    assert not Schedule.objects.filter(next_run__gt=timezone.now() + timedelta(minutes=2)).exists()


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_what_is_run_exists_and_takes_no_argument(plan):
    module, _, name = plan.func.rpartition(".")
    assert getattr(importlib.import_module(module), name).__code__.co_argcount == 0


def test_all_that_is_due_is_handed_out():
    schedules.ensure()
    assert fired() == sorted(plan.func for plan in PLANS)


@pytest.mark.parametrize("harm", MALFORMED, ids=str)
def test_a_malformed_row_is_mended_and_all_are_handed_out(harm):
    schedules.ensure()
    good = as_they_are()
    Schedule.objects.filter(name=PLANS[0].name).update(**harm)
    schedules.ensure()
    assert as_they_are() == good
    assert fired() == sorted(plan.func for plan in PLANS)


def test_without_mending_one_malformed_row_would_stop_all(caplog):
    """What the mending is for; should the queue learn better, this says so."""
    schedules.ensure()
    Schedule.objects.filter(name=PLANS[-1].name).update(args="(")
    assert fired() == []


def test_a_row_of_somebody_else_is_removed():
    schedules.ensure()
    Schedule.objects.create(func="os.system", args="(", next_run=timezone.now())
    Schedule.objects.create(name=PLANS[0].name, func="os.system", next_run=timezone.now())
    schedules.ensure()
    assert len(as_they_are()) == len(PLANS)
    assert fired() == sorted(plan.func for plan in PLANS)


def test_a_run_that_was_put_off_for_ever_is_brought_back():
    schedules.ensure()
    Schedule.objects.update(next_run=timezone.now() + timedelta(days=9000))
    schedules.ensure()
    assert not Schedule.objects.filter(next_run__gt=timezone.now() + HOUR).exists()


def test_where_all_is_right_one_question_is_all(django_assert_num_queries):
    schedules.ensure()
    with django_assert_num_queries(1):
        schedules.ensure()


def test_the_ticker_mends_them_while_the_site_runs(enqueued, monkeypatch):
    monkeypatch.setattr(watch, "look", lambda now: None)
    schedules.ensure()
    Schedule.objects.update(args="(")
    active = Ticker()
    active._look_at -= LOOK_AFTER
    active.tick()
    active.close()
    assert not Schedule.objects.filter(args="(").exists()
