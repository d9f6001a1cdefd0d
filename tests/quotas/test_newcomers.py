"""Seats of a network's day, and what the database refuses of them."""

import re
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from quotas.accounts import account_of_visitor, ensure_saved
from quotas.models import Newcomer
from quotas.new_visitors import TAKE_SQL, forgettable, has_room, take_seat

HERE, THERE = "192.0.2.1", "2001:db8:1:2::/64"


@pytest.fixture
def take(db, now):
    """Another visitor comes."""

    def come(network: str = HERE, at=now) -> bool:
        name = f"visitor {Newcomer.objects.count()}"
        account = ensure_saved(account_of_visitor(name), now=at)
        return take_seat(account=account, network=network, now=at)

    return come


def numbers(network: str = HERE) -> list[int]:
    seats = Newcomer.objects.filter(network=network).order_by("pk")
    return list(seats.values_list("number", flat=True))


def test_seats_are_numbered_and_end_with_what_is_allowed(take, settings):
    settings.NEW_VISITORS_A_DAY = 3
    assert [take() for _ in range(4)] == [True, True, True, False]
    assert numbers() == [1, 2, 3]


def test_networks_share_nothing(take, settings):
    settings.NEW_VISITORS_A_DAY = 1
    assert [take(HERE), take(THERE), take(HERE)] == [True, True, False]


def test_the_day_is_the_utc_day(take, settings, now):
    settings.NEW_VISITORS_A_DAY = 1
    midnight = now.replace(hour=0) + timedelta(days=1)
    before = midnight - timedelta(seconds=1)
    assert [take(at=before), take(at=before), take(at=midnight)] == [True, False, True]


def test_none_allowed_is_none(take, settings, day):
    settings.NEW_VISITORS_A_DAY = 0
    assert not take()
    assert not has_room(HERE, day)


def test_what_is_lowered_lets_nobody_in_and_what_is_raised_goes_on(take, settings):
    settings.NEW_VISITORS_A_DAY = 2
    assert take()
    assert take()
    settings.NEW_VISITORS_A_DAY = 1
    assert not take()
    settings.NEW_VISITORS_A_DAY = 3
    assert take()
    assert numbers() == [1, 2, 3]


def test_a_seat_that_was_rolled_back_is_the_next_ones(take, settings):
    settings.NEW_VISITORS_A_DAY = 1
    with transaction.atomic():
        assert take()
        transaction.set_rollback(True)
    assert take()


def test_there_is_room_until_the_last_seat(take, settings, day):
    settings.NEW_VISITORS_A_DAY = 2
    take()
    assert has_room(HERE, day)
    take()
    assert not has_room(HERE, day)
    assert has_room(HERE, day + timedelta(days=1))


def test_what_counts_no_more_may_be_forgotten(take, now):
    take()
    assert not forgettable(now + timedelta(days=1)).exists()
    assert forgettable(now.replace(hour=0) + timedelta(days=2)).exists()


@pytest.mark.parametrize("number", [0, 31])
def test_number_beyond_what_is_allowed_is_refused(take, number):
    take()
    with pytest.raises(IntegrityError, match="newcomer_number_within_allowed"):
        Newcomer.objects.update(number=number)


def test_a_seat_is_refused_a_second_time(take, visitor):
    take()
    first = Newcomer.objects.get()
    seat = {name: getattr(first, name) for name in ("network", "day", "number", "allowed")}
    with pytest.raises(IntegrityError):
        Newcomer.objects.create(account=visitor, taken_at=first.taken_at, **seat)


def test_taking_one_reads_the_day_of_its_network_only(sqlite_database):
    path = sqlite_database.url.removeprefix("sqlite:///")
    statement = re.sub(r"%\((\w+)\)s", r":\1", TAKE_SQL)
    facts = {"network": HERE, "day": "2026-03-14", "allowed": 30, "account": 1, "now": "2026-03-14"}
    with closing(sqlite3.connect(path)) as connection:
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", facts)]
    reads = [step for step in steps if re.search(r"\bseat\b", step)]
    assert [step.startswith("SEARCH seat USING COVERING INDEX") for step in reads] == [True]
    assert reads[0].endswith("(day=? AND network=?)")
