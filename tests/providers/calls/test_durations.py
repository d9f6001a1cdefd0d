"""What is usual is what this site saw, of that model, lately, and often enough."""

from copy import copy
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from providers.calls.durations import FEWEST, LAST, Usual, usual_duration
from providers.calls.models import Call, new_token
from tests.providers.call_rows import OFFER, call_in

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture
def finish(now):
    """Succeeded calls that took so many minutes, the first of them ended last."""

    def make(*minutes: float, **columns: object) -> None:
        call = call_in("succeeded", now)
        Call.objects.filter(pk=call.pk).delete()
        rows = []
        for number, lasted in enumerate(minutes):
            row = copy(call)
            row.pk, row.hook_token = None, new_token()
            row.work, row.reference = f"image:{number}", f"gen_{number}"
            row.ended_at = now - number * MINUTE
            row.accepted_at = row.ended_at - lasted * MINUTE
            for name, value in columns.items():
                setattr(row, name, value)
            rows.append(row)
        Call.objects.bulk_create(rows)

    return make


def usual():
    return usual_duration(OFFER.provider, OFFER.model)


def test_nothing_is_usual_before_there_are_enough(finish):
    finish(*[3] * (FEWEST - 1))
    assert usual() is None


def test_half_and_nine_of_ten(finish):
    finish(*range(1, 21))
    assert usual() == Usual(10 * MINUTE, 18 * MINUTE)


def test_only_the_last_calls_count(finish):
    finish(*[2] * LAST, *[9] * LAST)
    assert usual() == Usual(2 * MINUTE, 2 * MINUTE)


@pytest.mark.parametrize(
    "columns",
    [{"model": "other"}, {"provider": "other"}, {"accepted_at": None}, {"state": "failed"}],
    ids=str,
)
def test_other_calls_do_not_count(finish, columns):
    finish(*[2] * FEWEST, **columns)
    assert usual() is None


def test_a_call_that_is_answered_at_once_counts_from_its_sending(finish, now):
    sent = {"sent_at": now - 3 * MINUTE, "ended_at": now}
    finish(*[2] * FEWEST, reference=None, accepted_at=None, **sent)
    assert usual() == Usual(3 * MINUTE, 3 * MINUTE)


def test_it_is_one_bounded_query(finish):
    finish(*[2] * FEWEST)
    with CaptureQueriesContext(connection) as caught:
        usual()
    assert [f"LIMIT {LAST}" in query["sql"] for query in caught.captured_queries] == [True]


def test_the_query_has_its_index(finish):
    if connection.vendor != "sqlite":
        pytest.skip("skipped what reads SQLite's query plan: PostgreSQL reads a small table whole")
    with CaptureQueriesContext(connection) as caught:
        usual()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {caught.captured_queries[0]['sql']}")
        plan = " ".join(row[3] for row in cursor.fetchall())
    assert "USING INDEX call_finished_of_model" in plan
    assert "TEMP B-TREE" not in plan
