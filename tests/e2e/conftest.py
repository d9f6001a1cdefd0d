"""A real site and a real browser. No test here touches the database: it sees what a person sees.

Browser, site and show room are started once in a process and shared by its files. While the browser
is open an event loop runs in this thread, where Django refuses its database: `tests/conftest.py`
puts these tests last.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.browser import find_chromium, open_chromium
from tests.e2e.show_room import ShowRoom
from tests.site_process import Site, wait_until

SETTINGS = {
    "WORKERS": "2",
    "RATE_LIMITS": "MEMORY",
    "SANDBOX_SECONDS": "4",
    # Its slow faults take 12 s and more, well below the deadline.
    "SANDBOX_MINUTE": "0.9",
    "POLL_EVERY": "0.3",
    # So long that a busy machine leaves no doubt of its own, nor starts a stopped cluster again.
    "SANDBOX_SILENCE_TIMEOUT": "20",
    "SANDBOX_ANSWER_TIMEOUT": "20",
    "PROBE_TIMEOUT": "120",
    "LEASE_LASTS": "3",
    "WAKE_AGAIN_AFTER": "1",
    "DJANGO_SUPERUSER_PASSWORD": "staff's password",
}
CLEAR = timedelta(minutes=10)
PATIENCE = 60_000  # ms, for what comes at once unless the machine is busy
expect.set_options(timeout=PATIENCE)


def is_far_from_midnight() -> bool:
    """What a page says of the day's slots holds for what is ordered, or was laid out some minutes
    back, on the same UTC day."""
    now = datetime.now(UTC)
    return (now - CLEAR).date() == now.date() == (now + CLEAR).date()


@pytest.fixture(scope="session")
def open_browser() -> Iterator[Browser]:
    executable = find_chromium()
    if executable:
        with open_chromium(executable) as browser:
            yield browser
    elif os.environ.get("CI", "").lower() == "true":
        pytest.fail("Chromium is missing: install it or name it in CHROMIUM", pytrace=False)
    else:
        pytest.skip("skipped what needs Chromium: install chromium or name one in CHROMIUM")


@pytest.fixture(scope="module")
def chromium(open_browser) -> Browser:
    wait_until(is_far_from_midnight, seconds=3 * CLEAR.total_seconds(), every=1)
    return open_browser


@pytest.fixture(scope="session")
def shared_site(open_browser, tmp_path_factory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"), **SETTINGS)
    try:
        site.start()
        assert is_quiet(site.logs())
        yield site
    finally:
        site.stop()


def is_quiet(log: str) -> bool:
    return "Warning" not in log and "Traceback" not in log


@pytest.fixture(scope="module")
def site(chromium, shared_site) -> Site:
    """The site that all files share, healed from the file before. Everyone who comes is new."""
    shared_site.wait_until(shared_site.is_whole)
    return shared_site


class Rooms:
    """One show room at a time. Its rows get older, so another one replaces it after a while."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._room: ShowRoom | None = None
        self._opened_at = datetime.now(UTC)

    def current(self) -> ShowRoom:
        if self._room and datetime.now(UTC) - self._opened_at > CLEAR:
            self.close()
        if self._room is None:
            self._room = self._open()
        return self._room

    def _open(self) -> ShowRoom:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        self._opened_at = datetime.now(UTC)
        return ShowRoom(folder).open()

    def close(self) -> None:
        if self._room:
            self._room.close()
        self._room = None


@pytest.fixture(scope="session")
def rooms(open_browser, tmp_path_factory) -> Iterator[Rooms]:
    with closing(Rooms(tmp_path_factory.mktemp("rooms"))) as rooms:
        yield rooms


@pytest.fixture(scope="module")
def room(chromium, rooms) -> ShowRoom:
    """Its tests leave the rows as they were."""
    return rooms.current()


@pytest.fixture
def visit(chromium, room):
    """visit("ana") is a page of hers in the show room."""
    contexts: list[BrowserContext] = []

    def come(person: str, **options) -> Page:
        context = chromium.new_context(base_url=room.url, **options)
        context.set_default_timeout(PATIENCE)
        context.add_cookies(room.cookies(person))
        contexts.append(context)
        return context.new_page()

    yield come
    for context in contexts:
        context.close()


@pytest.fixture
def troubles() -> list[str]:
    """What the browser complained of. A test that provokes it clears the list."""
    return []


@pytest.fixture
def someone(chromium, site, troubles):
    """someone() is a browser of a person who comes for the first time."""
    contexts: list[BrowserContext] = []

    def come(**options) -> BrowserContext:
        context = chromium.new_context(base_url=site.url, **options)
        context.set_default_timeout(PATIENCE)
        context.on("console", lambda said: note(said.type == "error", said.text))
        context.on("weberror", lambda raised: note(True, str(raised.error)))
        contexts.append(context)
        return context

    def note(is_trouble: bool, text: str) -> None:
        if is_trouble:
            troubles.append(text)

    yield come
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def page(someone) -> Page:
    return someone().new_page()
