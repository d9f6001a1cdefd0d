"""A stream that is open when its session ends: it sees no more within the minute."""

import asyncio
import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.live import viewers as viewers_module
from jobs.live.hub import Hub
from jobs.live.viewers import ASK_AGAIN_AFTER, Subscription, Viewers
from jobs.people.session_cache import SessionStamp
from jobs.people.snapshots import LASTS, millis

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

SECOND = timedelta(seconds=1)


@pytest.fixture
def viewers():
    return Viewers()


@pytest.fixture
def enter(viewers, ana_client, now):
    """enter(client, ago=...): a stream, its session last read `ago` before now."""

    def enter(client=ana_client, ago=timedelta()) -> Subscription:
        key = client.session.session_key
        one = Subscription(uuid.uuid4(), 7, SessionStamp(key, millis(now - ago)))
        viewers.enter(one)
        return one

    return enter


def ban(username: str) -> None:
    User.objects.filter(username=username).update(is_active=False)


def test_whoever_is_banned_is_out_within_the_minute(viewers, enter, ben_client, now):
    banned, other = enter(), enter(ben_client)
    ban("ana")
    out = [viewers.those_out(now + second * SECOND) for second in range(60)]
    assert [one for found in out for one in found if one is banned]
    assert not any(other in found for found in out)


def test_a_snapshot_as_old_as_can_be_is_asked_about_at_once(viewers, enter, now):
    banned = enter(ago=LASTS)
    ban("ana")
    assert viewers.those_out(now) == [banned]


def test_whoever_may_stay_is_asked_about_again_and_again(viewers, enter, now):
    enter()
    assert viewers.those_out(now + ASK_AGAIN_AFTER) == []
    ban("ana")
    assert len(viewers.those_out(now + 2 * ASK_AGAIN_AFTER)) == 1


def test_nobody_is_asked_about_before_their_turn(viewers, enter, now, django_assert_num_queries):
    enter()
    with django_assert_num_queries(0):
        viewers.those_out(now + ASK_AGAIN_AFTER - SECOND)


def test_many_are_two_queries_and_at_most_one_look_a_second(
    viewers, enter, ben_client, now, django_assert_num_queries
):
    for client in [ben_client] * 5:
        enter(client, ago=LASTS)
    enter(ago=LASTS)
    with django_assert_num_queries(2):
        viewers.those_out(now)
        enter(ago=LASTS)
        viewers.those_out(now + SECOND / 2)


def test_the_longest_due_come_first_and_all_in_turn(viewers, enter, now, monkeypatch):
    monkeypatch.setattr(viewers_module, "MOST_AT_ONCE", 2)
    waiting = [enter(ago=ASK_AGAIN_AFTER + number * SECOND) for number in range(4)]
    ban("ana")
    assert viewers.those_out(now) == waiting[:1:-1]
    assert viewers.those_out(now + SECOND) == waiting[1::-1]


def test_a_visitor_and_whoever_left_are_not_asked_about(
    viewers, enter, now, django_assert_num_queries
):
    viewers.enter(Subscription(uuid.uuid4(), 7))
    viewers.leave(enter(ago=LASTS))
    with django_assert_num_queries(0):
        assert viewers.those_out(now) == []


def test_a_clock_set_back_is_a_reason_to_ask(viewers, enter, now):
    enter()
    ban("ana")
    assert len(viewers.those_out(now - SECOND)) == 1


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_the_hubs_own_thread_puts_out(ana_client, now, watcher):
    """Also while nothing moves: a stream of a session that is gone."""
    key = ana_client.session.session_key
    ana_client.session.flush()

    async def look_on() -> bool:
        hub = Hub(asyncio.get_running_loop())
        one = hub.subscribe(uuid.uuid4(), 7, SessionStamp(key, millis(now - LASTS)))
        async with asyncio.timeout(60):
            await one.woken.wait()
        hub.leave(one)
        return one.is_out

    assert asyncio.run(look_on())
