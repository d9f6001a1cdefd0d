"""A tab that is open but out of view tells of the end, where its person asked for it."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import asked_by, expect_state, order_slowly
from tests.e2e.test_live import come_into_view, has_ended, leave_view, wait_for_streams
from tests.site_process import wait_until

pytestmark = [pytest.mark.chromium, pytest.mark.site]

WATCH = """
window.shown = [];
window.Notification = class extends window.Notification {
    constructor(title, options) { super(title, options); window.shown.push([title, options]); }
};"""
# A little more than the page waits between two questions, in ms.
ASKED_WITHIN = 16_000


@pytest.fixture
def page(someone, site) -> Page:
    context = someone()
    context.grant_permissions(["notifications"], origin=site.url)
    context.add_init_script(WATCH)
    return context.new_page()


def notify_me(page: Page):
    return page.get_by_role("button", name="Notify me in this browser")


def shown(page: Page) -> list:
    return page.evaluate("window.shown")


def let_it_end(page: Page) -> None:
    """And give the page the time to ask, unless it has asked already."""
    wait_until(lambda: has_ended(page))
    page.clock.run_for(ASKED_WITHIN)
    expect_state(page, "Ready")


@pytest.fixture
def wished(page) -> Page:
    """Out of view, its person having asked to be told of the end."""
    page.clock.install()
    order_slowly(page)
    notify_me(page).click()
    expect(notify_me(page)).to_have_attribute("aria-pressed", "true")
    leave_view(page)
    return page


def test_the_end_is_shown_once_by_its_state_alone(site, wished):
    wait_for_streams(site, 0)
    let_it_end(wished)
    assert shown(wished) == [["Ready", None]]
    wished.clock.run_for(3 * ASKED_WITHIN)
    come_into_view(wished)
    assert len(shown(wished)) == 1
    expect(notify_me(wished)).to_have_count(0)


def test_a_paused_page_tells_of_the_end_too(wished):
    come_into_view(wished)
    wished.get_by_role("button", name="Pause live updates").click()
    leave_view(wished)
    let_it_end(wished)
    assert shown(wished) == [["Ready", None]]


def test_nothing_is_shown_and_nothing_asked_without_the_wish(site, page):
    page.clock.install()
    order_slowly(page)
    leave_view(page)
    wait_for_streams(site, 0)
    asked = asked_by(page)
    wait_until(lambda: has_ended(page))
    page.clock.run_for(3 * ASKED_WITHIN)
    assert (shown(page), asked) == ([], [])


def test_nothing_is_shown_to_whoever_looks_on(page):
    order_slowly(page)
    notify_me(page).click()
    expect_state(page, "Ready")
    assert shown(page) == []


def test_the_wish_outlives_news_and_keeps_the_focus(page):
    order_slowly(page)
    notify_me(page).click()
    expect_state(page, "Generating")
    expect(notify_me(page)).to_have_attribute("aria-pressed", "true")
    expect(notify_me(page)).to_be_focused()


@pytest.mark.parametrize(
    "without",
    [
        "delete window.Notification",
        "Object.defineProperty(Notification, 'permission', {get: () => 'denied'})",
    ],
)
def test_the_button_is_absent_where_nothing_could_be_shown(someone, without):
    context = someone()
    context.add_init_script(without)
    page = context.new_page()
    order_slowly(page)
    expect(page.get_by_role("button", name="Pause live updates")).to_be_visible()
    assert not notify_me(page).is_visible()


def test_the_button_goes_when_the_browser_refuses(someone):
    context = someone()
    context.add_init_script(
        "Object.defineProperty(Notification, 'permission', {get: () => 'default'});"
        "Notification.requestPermission = async () => 'denied';"
    )
    page = context.new_page()
    order_slowly(page)
    notify_me(page).click()
    expect(notify_me(page)).to_be_hidden()


def test_nothing_is_asked_of_a_browser_without_scripts(someone):
    page = someone(java_script_enabled=False).new_page()
    order_slowly(page)
    assert not notify_me(page).is_visible()
