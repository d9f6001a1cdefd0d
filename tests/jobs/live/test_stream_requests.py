"""A stream as a server asks for it: by ASGI, through all that stands before the view."""

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections

from config.http.handler import Handler
from jobs.live import streams
from jobs.live.hub import Hub
from jobs.live.watchers import leave_pool

JOB = uuid.UUID(int=1)
MANY = 12


class QuietHub(Hub):
    """A hub that looks at no database."""

    def _watch(self) -> None:
        pass

    async def state_of(self, job_id):
        return None


class Viewer:
    """A client of the application, and what was sent to it."""

    def __init__(self, application: Handler) -> None:
        self.sent: list[dict] = []
        self.left = asyncio.Event()
        self._asked = False
        path = f"/jobs/{JOB}/stream"
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b""}
        self.task = asyncio.create_task(
            application({**scope, "headers": [(b"host", b"localhost")]}, self.receive, self.send)
        )

    async def receive(self) -> dict:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict) -> None:
        self.sent.append(message)

    async def leave(self) -> None:
        self.left.set()
        await asyncio.wait_for(self.task, 60)


@pytest.fixture
def owner(monkeypatch):
    """The look-up of the job's owner; a test may put another in its place."""
    looked_up = [lambda: 7]
    monkeypatch.setattr(streams, "_viewer", lambda request, job_id: (looked_up[-1](), None))
    return looked_up


@pytest.fixture
def run(monkeypatch, owner):
    """run(scenario) awaits `scenario(hub, come)`; come() is one more viewer."""

    def run(scenario: Callable[[Hub, Callable[[], Viewer]], Awaitable]):
        async def within_loop():
            hub = QuietHub(asyncio.get_running_loop())
            monkeypatch.setattr(streams, "hub", lambda: hub)
            application = Handler()
            return await asyncio.wait_for(scenario(hub, lambda: Viewer(application)), 120)

        return asyncio.run(within_loop())

    return run


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


def test_a_viewer_who_leaves_before_the_owner_is_known_leaves_no_stream(run, owner):
    entered, held = threading.Event(), threading.Event()

    def look_up() -> int:
        entered.set()
        held.wait(60)
        return 7

    owner.append(look_up)

    async def scenario(hub, come):
        viewer = come()
        await until(entered.is_set)
        viewer.left.set()
        # All in this loop have their turns before the owner is known.
        for _ in range(50):
            await asyncio.sleep(0)
        held.set()
        await viewer.leave()
        return hub.streams, viewer.sent

    assert run(scenario) == (0, [])


def test_open_streams_hold_no_thread_each(run, settings):
    settings.LIVE_STREAMS_A_PERSON = MANY
    # Whoever ran before in this process may have left threads of their own.
    earlier = threads_of_requests()

    async def scenario(hub, come):
        viewers = [come() for _ in range(MANY)]
        await until(lambda: hub.streams == MANY)
        await until(lambda: not threads_of_requests() - earlier)
        for viewer in viewers:
            await viewer.leave()
        return hub.streams

    assert run(scenario) == 0


def threads_of_requests() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("ThreadPoolExecutor")}


def test_beyond_the_most_a_stream_is_refused_without_a_look_at_the_database(run, owner, settings):
    settings.LIVE_STREAMS = 1

    async def scenario(hub, come):
        first = come()
        await until(lambda: hub.streams == 1)
        owner.append(lambda: pytest.fail("looked up"))
        second = come()
        await asyncio.wait_for(second.task, 60)
        await first.leave()
        return second.sent[0], hub.streams

    refusal, left = run(scenario)
    assert refusal["status"] == 503
    assert (b"Retry-After", b"15") in refusal["headers"]
    assert left == 0


def test_the_hub_does_not_wait_for_a_connection_of_the_pool(monkeypatch):
    monkeypatch.setitem(connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"], "pool", {"max_size": 1})
    seen = []

    def look() -> None:
        leave_pool()
        seen.append("pool" in connection.settings_dict["OPTIONS"])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(60)
    assert seen == [False]
    assert "pool" in connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"]
