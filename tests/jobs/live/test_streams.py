"""What one stream sends and when it ends, with the hub's thread and the database left out."""

import asyncio
import uuid
from contextlib import suppress

import pytest

from jobs.live import streams
from jobs.live.hub import Hub
from jobs.live.rendering import Rendered

JOB = uuid.UUID(int=1)


def state(version: int, *, has_ended: bool = False) -> Rendered:
    return Rendered(JOB, version, has_ended, f"event: state\nid: {version}\n\n".encode())


class QuietHub(Hub):
    """A hub whose news are put in by the test."""

    def _watch(self) -> None:
        pass

    async def state_of(self, job_id):
        return self.states.get(job_id)


def read(scenario) -> list[bytes]:
    """Every part that a stream sent while `scenario(hub)` went on beside it."""

    async def both() -> list[bytes]:
        hub = QuietHub(asyncio.get_running_loop())
        task = asyncio.create_task(collect(hub))
        await scenario(hub)
        parts = await asyncio.wait_for(task, 60)
        assert hub.streams == 0
        return parts

    return asyncio.run(both())


async def collect(hub: Hub) -> list[bytes]:
    return [part async for part in streams._events(hub, JOB, 7)]


async def subscribed(hub: Hub) -> None:
    while not hub.streams:
        await asyncio.sleep(0)
    await settled()


async def settled() -> None:
    """All in this loop have had their turns, however long the machine was elsewhere."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_each_version_is_sent_once_and_the_end_closes():
    async def scenario(hub):
        await subscribed(hub)
        for version in (1, 2, 2, 1):
            hub._publish([state(version)])
            await settled()
        hub._publish([state(3, has_ended=True)])

    sent = read(scenario)
    assert sent == [state(1).event, state(2).event, state(3).event, streams.close("ended")]


def test_a_slow_viewer_gets_the_present_state_not_every_one():
    async def scenario(hub):
        await subscribed(hub)
        hub._publish([state(1)])
        hub._publish([state(2)])
        hub._publish([state(5, has_ended=True)])

    assert read(scenario) == [state(5).event, streams.close("ended")]


def test_silence_is_filled_with_comments_and_has_an_end(monkeypatch):
    monkeypatch.setattr(streams, "COMMENT_EVERY", 0.01)
    monkeypatch.setattr(streams, "LONGEST", 1)

    async def scenario(hub):
        await subscribed(hub)

    sent = read(scenario)
    assert len(sent) >= 2
    assert set(sent) == {streams.COMMENT}


def test_the_end_after_ten_minutes_asks_the_browser_to_come_back():
    """A plain end, without the word that tells it to stop."""
    assert streams.LONGEST == 600
    assert streams.COMMENT_EVERY == 15


def test_news_in_the_moment_a_viewer_leaves_do_not_keep_the_stream():
    async def leave_as_news_come() -> int:
        hub = QuietHub(asyncio.get_running_loop())
        viewer = asyncio.create_task(collect(hub))
        await subscribed(hub)
        hub._publish([state(1)])
        await asyncio.sleep(0)
        viewer.cancel()
        await asyncio.wait([viewer], timeout=60)
        return hub.streams

    assert asyncio.run(leave_as_news_come()) == 0


def test_a_viewer_whose_leaving_was_swallowed_on_the_way_is_not_sent_to():
    """As a thread's answer may swallow it, that comes at the same moment."""

    async def look() -> list[bytes]:
        hub = QuietHub(asyncio.get_running_loop())
        hub.states[JOB] = state(1)
        viewer = asyncio.create_task(swallow_then_collect(hub))
        await asyncio.sleep(0)
        viewer.cancel()
        return await asyncio.wait_for(viewer, 60)

    async def swallow_then_collect(hub: Hub) -> list[bytes]:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return await collect(hub)

    assert asyncio.run(look()) == []


def test_beyond_the_most_a_stream_is_told_to_ask_instead(settings):
    settings.LIVE_STREAMS = 1

    async def open_two() -> tuple[list[bytes], int]:
        hub = QuietHub(asyncio.get_running_loop())
        hub.subscribe(JOB, 7)
        return await collect(hub), hub.streams

    assert asyncio.run(open_two()) == ([streams.close("full")], 1)


@pytest.mark.parametrize("most", [1, 2])
def test_the_newest_streams_of_a_person_win(settings, most):
    settings.LIVE_STREAMS_A_PERSON = most

    async def open_three() -> list[bool]:
        hub = QuietHub(asyncio.get_running_loop())
        return [one.replaced for one in [hub.subscribe(JOB, 7) for _ in range(3)]]

    assert asyncio.run(open_three()) == [True] * (3 - most) + [False] * most


def test_another_person_ends_nobody_elses_stream(settings):
    async def open_all() -> list[bool]:
        hub = QuietHub(asyncio.get_running_loop())
        return [one.replaced for one in [hub.subscribe(JOB, number) for number in range(5)]]

    assert not any(asyncio.run(open_all()))


def test_what_nobody_looks_at_is_forgotten():
    async def come_and_go() -> Hub:
        hub = QuietHub(asyncio.get_running_loop())
        subscription = hub.subscribe(JOB, 7)
        hub._publish([state(1)])
        hub.leave(subscription)
        return hub

    hub = asyncio.run(come_and_go())
    assert (hub.states, hub._by_job, hub._by_account) == ({}, {}, {})


def test_whoever_was_put_out_sees_no_more():
    async def scenario(hub):
        await subscribed(hub)
        hub._publish([state(1)])
        await settled()
        hub._publish([state(2)])
        [subscription] = hub._by_job[JOB]
        subscription.put_out()

    assert read(scenario) == [state(1).event, streams.close("signed_out")]
