"""The hub of one web process: who looks at which job, and what each of them sees.

One thread watches the database and renders; the event loop only hands over what is ready. The
cost of a change does not grow with the number of open pages but for writing to each.
"""

import asyncio
import logging
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from jobs.live.rendering import Rendered, read_versions, render, render_and_close
from jobs.live.viewers import Subscription, Viewers
from jobs.live.watchers import Watcher, leave_pool, watcher
from jobs.people.session_cache import SessionStamp

log = logging.getLogger(__name__)

LOOK_FOR_STREAMS_EVERY = 1.0
BACK_OFF = 1.0


class Hub:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.streams = 0
        self.states: dict[uuid.UUID, Rendered] = {}
        self._by_job: dict[uuid.UUID, set[Subscription]] = defaultdict(set)
        self._by_account: dict[int, list[Subscription]] = defaultdict(list)
        self._viewers = Viewers()
        self._first_looks: dict[uuid.UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._watching = threading.Condition()
        self._watched: frozenset[uuid.UUID] = frozenset()
        self._thread: threading.Thread | None = None

    @property
    def is_full(self) -> bool:
        return self.streams >= settings.LIVE_STREAMS

    def subscribe(
        self, job_id: uuid.UUID, account_id: int, stamp: SessionStamp | None = None
    ) -> Subscription:
        """The newest of a person's streams wins: a third one ends the first."""
        subscription = Subscription(job_id, account_id, stamp)
        self.streams += 1
        self._viewers.enter(subscription)
        self._by_job[job_id].add(subscription)
        mine = self._by_account[account_id]
        mine.append(subscription)
        for older in mine[: -settings.LIVE_STREAMS_A_PERSON]:
            older.replaced = True
            older.woken.set()
        self._watch()
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Forget a stream that ended, for any reason."""
        job_id, account_id = subscription.job_id, subscription.account_id
        self.streams -= 1
        self._viewers.leave(subscription)
        self._by_job[job_id].discard(subscription)
        self._by_account[account_id].remove(subscription)
        if not self._by_account[account_id]:
            del self._by_account[account_id]
        if not self._by_job[job_id]:
            del self._by_job[job_id]
            self.states.pop(job_id, None)
            self._first_looks.pop(job_id, None)
            self._watch()

    async def state_of(self, job_id: uuid.UUID) -> Rendered | None:
        """The present state for a stream that has just subscribed; many at once render it once."""
        async with self._first_looks[job_id]:
            if job_id not in self.states:
                rendered = await sync_to_async(render_and_close, thread_sensitive=False)(job_id)
                self._publish([rendered] if rendered else [])
        return self.states.get(job_id)

    def _watch(self) -> None:
        """Tell the thread what to look at; start it with the first stream."""
        with self._watching:
            self._watched = frozenset(self._by_job)
            self._watching.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="live", daemon=True)
            self._thread.start()

    def _publish(self, rendered: Iterable[Rendered]) -> None:
        """In the event loop: what was rendered is now what everybody sees."""
        for state in rendered:
            present = self.states.get(state.job_id)
            if state.job_id in self._by_job and (not present or present.version < state.version):
                self.states[state.job_id] = state
                for subscription in self._by_job[state.job_id]:
                    subscription.woken.set()

    def _run(self) -> None:
        """The thread: wait for the database to move, compare versions, render what is new."""
        leave_pool()
        watch = watcher()
        while True:
            try:
                self._wait_for_streams(watch)
                if watch.wait(LOOK_FOR_STREAMS_EVERY):
                    self._render_news()
                self._put_out(timezone.now())
            except Exception as exc:  # noqa: BLE001  a bad moment must not end live pages for good
                log.warning("Live pages missed a look: %s", type(exc).__name__)
                watch.close()
                watch = watcher()
                time.sleep(BACK_OFF)

    def _render_news(self) -> None:
        """One query for the versions of all watched jobs, and one rendering for each new one."""
        versions = read_versions(self._watched)
        seen = {job_id: state.version for job_id, state in list(self.states.items())}
        news = [job_id for job_id, version in versions.items() if version > seen.get(job_id, 0)]
        for job_id in news:
            rendered = render(job_id)
            if rendered:
                self.loop.call_soon_threadsafe(self._publish, [rendered])

    def _put_out(self, now: datetime) -> None:
        """End the streams of viewers who were banned or signed out."""
        for subscription in self._viewers.those_out(now):
            self.loop.call_soon_threadsafe(subscription.put_out)

    def _wait_for_streams(self, watch: Watcher) -> None:
        """Without a stream the thread sleeps and holds no connection."""
        with self._watching:
            if not self._watched:
                watch.close()
            self._watching.wait_for(lambda: bool(self._watched))


_hubs: dict[int, Hub] = {}


def hub() -> Hub:
    """This event loop's hub."""
    loop = asyncio.get_running_loop()
    if id(loop) not in _hubs or _hubs[id(loop)].loop is not loop:
        _hubs[id(loop)] = Hub(loop)
    return _hubs[id(loop)]


def open_streams() -> int:
    """Of every event loop of this process; there is one."""
    return sum(hub.streams for hub in _hubs.values())
