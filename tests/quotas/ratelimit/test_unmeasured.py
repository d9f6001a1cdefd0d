"""What was let through unmeasured: counted, told once a minute, kept where it cannot be written."""

import threading
from datetime import timedelta

import pytest
from django.db import DatabaseError, InterfaceError

from quotas.models import Unmeasured
from quotas.ratelimit import bypassed
from quotas.ratelimit.bypassed import FIRST_FLUSH_AFTER, FLUSH_EVERY, Tally
from quotas.states import BypassReason

RAISES, FULL = BypassReason.ERROR, BypassReason.FULL


@pytest.fixture
def timers():
    return []


@pytest.fixture
def tally(timers):
    return Tally(set_timer=lambda seconds, act: timers.append(seconds))


def rows() -> dict[str, int]:
    return dict(Unmeasured.objects.order_by("why").values_list("why", "requests"))


@pytest.mark.django_db
def test_a_day_has_one_row_a_reason(tally, now):
    for why in (RAISES, RAISES, FULL):
        tally.count(why)
    tally.flush(now)
    tally.count(RAISES)
    tally.flush(now + timedelta(hours=1))
    assert rows() == {"full": 1, "raises": 3}
    assert Unmeasured.objects.get(why=RAISES).last_at == now + timedelta(hours=1)


@pytest.mark.django_db
def test_each_day_has_its_own(tally, now):
    for day in (now, now + timedelta(days=1)):
        tally.count(RAISES)
        tally.flush(day)
    assert list(Unmeasured.objects.values_list("requests", flat=True)) == [1, 1]


@pytest.mark.django_db
def test_the_first_is_told_at_once_and_then_once_a_minute(tally, timers, now):
    for _ in range(1000):
        tally.count(RAISES)
    assert timers == [FIRST_FLUSH_AFTER]
    tally.flush(now)
    tally.count(RAISES)
    assert timers[1] == pytest.approx(FLUSH_EVERY, abs=5)


@pytest.mark.django_db
def test_one_line_is_logged_for_a_thousand_requests(tally, now, caplog):
    for _ in range(1000):
        tally.count(RAISES)
    tally.flush(now)
    assert [record.getMessage() for record in caplog.records] == [
        "Rate limiter let requests through uncounted: raises 1000"
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("error", [DatabaseError, InterfaceError])
def test_without_a_database_the_sums_are_kept(tally, timers, now, monkeypatch, error):
    """And told when there is one, also where nothing passes unmeasured any more."""
    tally.count(RAISES)
    with monkeypatch.context() as broken:
        broken.setattr(bypassed, "record", _raise(error))
        tally.flush(now)
    assert len(timers) == 2
    tally.flush(now)
    assert rows() == {"raises": 1}


def test_where_no_thread_is_to_be_had_the_next_one_tells():
    timers = iter([RuntimeError, lambda: None])
    tally = Tally(set_timer=lambda seconds, act: _start(next(timers)))
    tally.count(RAISES)
    tally.count(RAISES)
    assert tally.unflushed() == {RAISES: 2}
    assert not list(timers)


@pytest.mark.django_db
def test_nothing_is_told_where_nothing_was_noted(tally, now, caplog):
    tally.flush(now)
    assert rows() == {}
    assert not caplog.records


def test_many_threads_lose_none(tally):
    crowd = [threading.Thread(target=_note_many, args=[tally]) for _ in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert tally.unflushed() == {RAISES: 8000}


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_thread_of_its_own_tells(now, monkeypatch):
    """Waited for without a look at the rows: in memory SQLite lets nobody write while one reads."""
    monkeypatch.setattr(bypassed, "FIRST_FLUSH_AFTER", 0.01)
    earlier = set(threading.enumerate())
    Tally().count(RAISES)
    for thread in set(threading.enumerate()) - earlier:
        thread.join()
    assert rows() == {"raises": 1}


def _raise(error: type[Exception]):
    def fail(*_args) -> None:
        raise error

    return fail


def _start(timer) -> None:
    if timer is RuntimeError:
        raise timer


def _note_many(tally: Tally) -> None:
    for _ in range(1000):
        tally.count(RAISES)
