"""A real site and a real browser. No test here touches the database: it sees what a person sees."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import BrowserContext, Page, expect

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
    "READ_TIMEOUT": "20",
    "SUBMIT_TIMEOUT": "20",
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


# Of a module: while it lives an event loop runs in this thread, where Django refuses its database.
@pytest.fixture(scope="module")
def chromium():
    wait_until(is_far_from_midnight, seconds=3 * CLEAR.total_seconds(), every=1)
    executable = find_chromium()
    if executable:
        with open_chromium(executable) as browser:
            yield browser
    elif os.environ.get("CI", "").lower() == "true":
        pytest.fail("Chromium is missing: install it or name it in CHROMIUM", pytrace=False)
    else:
        pytest.skip("skipped what needs Chromium: install chromium or name one in CHROMIUM")


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"), **SETTINGS)
    try:
        yield site.start()
    finally:
        site.stop()


@pytest.fixture(scope="module")
def room(chromium, tmp_path_factory):
    room = ShowRoom(tmp_path_factory.mktemp("room"))
    try:
        yield room.open()
    finally:
        room.close()


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
