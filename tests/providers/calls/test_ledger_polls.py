"""When a call is looked at again: 3 s, then 30 s, then 10 min, spread, and never past its end."""

from datetime import timedelta

import pytest

from providers.calls import ledger, poll_times
from providers.calls.models import Call
from providers.outcomes import Accepted
from tests.providers.call_rows import NEWS, call_in, open_call

pytestmark = pytest.mark.django_db
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
LANES = [
    (timedelta(), 3 * SECOND),
    (timedelta(minutes=14, seconds=59), 3 * SECOND),
    (timedelta(minutes=15), 30 * SECOND),
    (DAY - SECOND, 30 * SECOND),
    (DAY, 600 * SECOND),
    (6 * DAY, 600 * SECOND),
]


@pytest.mark.parametrize(("age", "every"), LANES)
def test_lane_follows_from_the_age(now, age, every):
    call, moment = call_in("accepted", now), now + age
    waits = [poll_times.next_poll(call, moment) - moment for _ in range(50)]
    assert all(0.9 * every <= wait <= 1.1 * every for wait in waits)


@pytest.mark.parametrize(("age", "every"), LANES)
def test_looks_are_spread_over_the_interval(now, age, every):
    call, moment = call_in("accepted", now), now + age
    waits = [poll_times.next_poll(call, moment) - moment for _ in range(200)]
    assert max(waits) - min(waits) > 0.1 * every


@pytest.mark.parametrize(("age", "every"), [(timedelta(), 30 * SECOND), (DAY, 600 * SECOND)])
def test_what_has_no_id_is_looked_for_in_the_slow_lane(now, settings, age, every):
    settings.LOST_RETENTION = 7 * DAY
    call, moment = call_in("unknown", now), now + age
    assert 0.9 * every <= poll_times.next_poll(call, moment) - moment <= 1.1 * every


@pytest.mark.parametrize("before_the_end", [SECOND, timedelta()])
def test_no_look_is_put_past_the_retention(now, before_the_end):
    call = call_in("accepted", now)
    assert poll_times.next_poll(call, call.give_up_at - before_the_end) == call.give_up_at


def test_due_calls_come_in_the_order_of_their_time(now):
    calls = [call_in("accepted", now, work=f"image:{number}") for number in range(3)]
    for call, seconds in zip(calls, (2, 1, 3), strict=True):
        Call.objects.filter(pk=call.pk).update(poll_at=now + seconds * SECOND)
    due = Call.objects.due(now + 2 * SECOND)
    assert [call.pk for call in due] == [calls[1].pk, calls[0].pk]


def test_claimed_polls_are_not_due_until_their_next_look(now):
    call_in("accepted", now)
    moment = now + 3 * SECOND
    ledger.claim_polls(list(Call.objects.due(moment)), moment)
    assert not Call.objects.due(moment).exists()
    assert Call.objects.due(moment + 4 * SECOND).get().polled_at == moment


def test_claim_of_many_takes_few_statements(now, django_assert_max_num_queries):
    for number in range(150):
        open_call(now, f"image:{number}")
    due = list(Call.objects.all())
    with django_assert_max_num_queries(5):
        ledger.claim_polls(due, now)


def test_claim_leaves_a_call_alone_that_ended_meanwhile(now):
    call = call_in("accepted", now)
    seen = list(Call.objects.all())
    ledger.record(call_id=call.pk, news=NEWS["done"], now=now)
    ledger.claim_polls(seen, now)
    call.refresh_from_db()
    assert (call.poll_at, call.polled_at) == (None, None)


def test_claim_leaves_the_state_alone_that_changed_meanwhile(now):
    call = open_call(now)
    seen = list(Call.objects.all())
    ledger.record(call_id=call.pk, news=Accepted("gen_1"), now=now)
    ledger.claim_polls(seen, now)
    call.refresh_from_db()
    assert (call.state, call.reference) == ("accepted", "gen_1")


def test_same_answer_is_written_once(now, django_assert_num_queries):
    call = call_in("accepted", now)
    ledger.note_answer(call, "running: " + "x" * 200)
    call.refresh_from_db()
    with django_assert_num_queries(0):
        ledger.note_answer(call, "running: " + "x" * 200)
