"""The page of a job as it stays open: one stream while it is in view, whatever happens to it."""

import json
import time
from itertools import pairwise

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.e2e.browser import OPTIONS, find_chromium
from tests.e2e.steps import PROMPT, asked_by, expect_quota, expect_state, order
from tests.site_process import wait_until

pytestmark = [pytest.mark.chromium, pytest.mark.site]

FORGOTTEN_WITHIN = 1.0
LOST = "Connection lost, trying again."
PAUSED = "Live updates are paused. Reload the page to see changes."
# A headless tab never leaves the view by itself.
SHOW = """state => {
    Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});
    Object.defineProperty(document, 'hidden', {value: state === 'hidden', configurable: true});
    document.dispatchEvent(new Event('visibilitychange', {bubbles: true}));
}"""
WATCH_STATUS = """() => {
    window.said = [];
    new MutationObserver(() => window.said.push(performance.now()))
        .observe(document.querySelector('#status'), {childList: true, characterData: true});
}"""
# `sources` are the streams that a page opened, `closes` what it was told when one was over.
KEEP_SOURCES = """window.sources = [];
window.closes = [];
window.EventSource = class extends EventSource {
    constructor(url) {
        super(url);
        window.sources.push(this);
        this.addEventListener('close', event => window.closes.push(event.data));
    }
};"""

# How long the network is away, in ms.
CUT_LASTS = 20_000


def streams(site) -> int | None:
    """None while no web process answers."""
    try:
        return requests.get(f"{site.url}/healthz", timeout=10).json()["streams"]
    except requests.RequestException:
        return None


def wait_for_streams(site, number: int) -> None:
    site.wait_until(lambda: streams(site) == number)


def leave_view(page: Page) -> None:
    page.evaluate(SHOW, "hidden")


def come_into_view(page: Page) -> None:
    page.evaluate(SHOW, "visible")


def expect_connection(page: Page, text: str) -> None:
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible()


def add_to_panel(page: Page, html: str) -> None:
    page.evaluate(
        """html => document.querySelector('#_job_panel .actions')
            .insertAdjacentHTML('beforeend', html)""",
        html,
    )


def send_news(page: Page, version: int, *, without: str = "nothing", look: int = 99) -> None:
    """The page's own panel, as if the stream had sent it again under that version."""
    page.evaluate(
        """([version, without, look]) => {
            const panel = document.querySelector('#_job_panel').cloneNode(true);
            panel.dataset.version = version;
            panel.dataset.look = look;
            panel.querySelector('h1').textContent = `Version ${version}`;
            panel.querySelector(without)?.remove();
            const news = {data: panel.outerHTML, lastEventId: `${version}`};
            window.sources.at(-1).dispatchEvent(new MessageEvent('state', news));
        }""",
        [version, without, look],
    )


@pytest.fixture(autouse=True)
def _no_stream_from_before(site):
    wait_for_streams(site, 0)


@pytest.fixture
def lasting(someone):
    """A person's three jobs that stay in doubt, and their context."""
    context = someone()
    page = context.new_page()
    addresses = []
    for _ in range(3):
        order(page, fault="drop_after")
        addresses.append(page.url)
    expect_state(page, "Confirming")
    page.close()
    return context, addresses


@pytest.fixture
def lasting_page(lasting) -> Page:
    """The page of a job that stays in doubt, with its sources at hand."""
    context, addresses = lasting
    page = context.new_page()
    page.add_init_script(KEEP_SOURCES)
    page.goto(addresses[0])
    expect_state(page, "Confirming")
    return page


def test_ten_pages_in_one_tab_hold_one_stream(site, lasting):
    context, addresses = lasting
    page = context.new_page()
    for visit in range(10):
        page.goto(addresses[visit % 3])
        wait_for_streams(site, 1)
    left_at = time.monotonic()
    page.goto("/gallery")
    wait_for_streams(site, 0)
    assert time.monotonic() - left_at < 5 * FORGOTTEN_WITHIN


def test_ten_tabs_hold_one_stream(site, lasting):
    context, addresses = lasting
    pages = []
    for visit in range(10):
        if pages:
            leave_view(pages[-1])
        pages.append(context.new_page())
        pages[-1].goto(addresses[visit % 3])
        wait_for_streams(site, 1)
    leave_view(pages[-1])
    wait_for_streams(site, 0)
    come_into_view(pages[4])
    wait_for_streams(site, 1)


def test_a_hidden_page_shows_the_present_state_when_it_is_seen_again(site, page):
    order(page, fault="slow_14")
    leave_view(page)
    wait_for_streams(site, 0)
    asked = asked_by(page)
    wait_until(lambda: has_ended(page))
    expect(page.locator("h1 + .chip")).not_to_have_text("Ready")
    assert asked == []
    come_into_view(page)
    expect_state(page, "Ready")
    assert streams(site) == 0


def has_ended(page: Page, job: str = "") -> bool:
    """By another request of the same person, as a poll would learn it."""
    asked = page.context.request.get(job or page.url, headers={"HX-Request": "true"})
    return asked.status == 286


def test_back_shows_the_present_state(site, page):
    order(page)
    job = page.url
    page.goto("/gallery")
    wait_until(lambda: has_ended(page, job))
    page.go_back()
    expect_state(page, "Ready")
    wait_for_streams(site, 0)


@pytest.fixture
def kept_page(chromium, site):
    """Of a browser that keeps the pages one has left, to show them again at once."""
    browser = chromium.browser_type.launch(
        executable_path=find_chromium(),
        args=OPTIONS,
        ignore_default_args=["--disable-back-forward-cache"],
    )
    yield browser.new_page(base_url=site.url)
    browser.close()


def test_back_in_a_browser_that_keeps_pages_shows_the_present_state(site, kept_page):
    order(kept_page)
    job = kept_page.url
    kept_page.goto("/gallery")
    wait_for_streams(site, 0)
    wait_until(lambda: has_ended(kept_page, job))
    kept_page.evaluate("history.back()")
    kept_page.wait_for_url(job, wait_until="commit")
    expect_state(kept_page, "Ready")


def test_a_page_left_in_a_browser_that_keeps_pages_holds_no_stream(site, kept_page):
    order(kept_page, fault="drop_after")
    expect_state(kept_page, "Confirming")
    wait_for_streams(site, 1)
    kept_page.goto("/gallery")
    wait_for_streams(site, 0)
    kept_page.evaluate("history.back()")
    wait_for_streams(site, 1)


def test_reload_in_mid_run_shows_the_present_state_in_the_first_response(page):
    order(page, fault="slow_14")
    expect_state(page, "Generating")
    assert "Generating" in page.reload().text().partition('class="chip"')[2][:400]


def test_a_finished_job_opens_no_stream(site, page):
    order(page)
    expect_state(page, "Ready")
    wait_for_streams(site, 0)
    asked = asked_by(page)
    page.reload()
    page.wait_for_load_state("networkidle")
    assert not [url for url in asked if url.endswith("/stream")]
    expect(page.get_by_role("button", name="Pause live updates")).to_have_count(0)


def test_a_cut_network_heals_without_a_click(page, troubles):
    order(page, fault="slow_14")
    page.context.set_offline(True)
    expect_connection(page, LOST)
    page.wait_for_timeout(CUT_LASTS)
    page.context.set_offline(False)
    expect_state(page, "Ready")
    expect_quota(page, "2 of 3 slots left today")
    expect(page.locator("#connection")).to_have_text("")
    troubles.clear()


def test_a_killed_web_process_is_found_again(site, lasting_page, troubles):
    wait_for_streams(site, 1)
    killed = site.kill("web")
    site.wait_until(lambda: site.pids().get("web", killed) != killed)
    wait_for_streams(site, 1)
    expect(lasting_page.locator("#connection")).to_have_text("")
    troubles.clear()


@pytest.mark.parametrize(
    "refuse",
    [lambda route: route.abort(), lambda route: route.fulfill(status=503)],
    ids=["unreachable", "full"],
)
def test_without_a_stream_the_page_asks(site, page, troubles, refuse):
    page.clock.install()
    page.route("**/stream", refuse)
    order(page)
    wait_until(lambda: has_ended(page))
    page.clock.run_for(40_000)
    expect_state(page, "Ready")
    expect(page.locator("#connection")).to_have_text("")
    troubles.clear()


def test_the_oldest_of_three_windows_asks_instead(site, lasting):
    context, addresses = lasting
    oldest, *others = (context.new_page() for _ in addresses)
    oldest.clock.install()
    oldest.add_init_script(KEEP_SOURCES)
    oldest.goto(addresses[0])
    wait_for_streams(site, 1)
    for page, address in zip(others, addresses[1:], strict=True):
        page.goto(address)
    wait_until(lambda: oldest.evaluate("closes.includes('replaced')"))
    asked = asked_by(oldest)
    with oldest.expect_response("**/jobs/*?seen=*"):
        oldest.clock.run_for(16_000)
    with oldest.expect_response("**/jobs/*?seen=*"):
        oldest.clock.run_for(16_000)
    assert not [url for url in asked if url.endswith("/stream")]


def test_a_page_that_found_all_places_taken_tries_again(site, lasting_page):
    wait_for_streams(site, 1)
    full = "sources.at(-1).dispatchEvent(new MessageEvent('close', {data: 'full'}))"
    with lasting_page.expect_request("**/stream"):
        lasting_page.evaluate(full)
        wait_for_streams(site, 0)
    wait_for_streams(site, 1)


def test_words_that_change_without_news_are_asked_for_in_time(lasting_page):
    with lasting_page.expect_request("**/jobs/*?seen=900"):
        send_news(lasting_page, 900, look=2)


def test_pause_holds_and_is_remembered(site, page):
    order(page, fault="slow_14")
    button = page.get_by_role("button", name="Pause live updates")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect_connection(page, PAUSED)
    wait_for_streams(site, 0)
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    word = page.locator("h1 + .chip").inner_text()
    wait_until(lambda: has_ended(page))
    assert page.locator("h1 + .chip").inner_text() == word != "Ready"
    button.click()
    expect_state(page, "Ready")
    expect(page.locator("#connection")).to_have_text("")


def test_the_status_line_speaks_of_each_stage_but_not_more_often_than_every_5_s(page):
    order(page)
    page.evaluate(WATCH_STATUS)
    expect(page.locator("#status")).to_contain_text("Ready in")
    said = page.evaluate("window.said")
    assert all(later - earlier >= 4_950 for earlier, later in pairwise(said))


def test_nothing_is_kept_in_the_browsers_stores(page):
    order(page)
    expect_state(page, "Ready")
    stores = page.evaluate("[{...localStorage}, {...sessionStorage}]")
    assert PROMPT not in json.dumps(stores)


def test_an_older_state_than_the_one_shown_is_ignored(lasting_page):
    send_news(lasting_page, 900)
    expect(lasting_page.locator("h1")).to_have_text("Version 900")
    send_news(lasting_page, 899)
    expect(lasting_page.locator("h1")).to_have_text("Version 900")


def test_focus_and_open_details_outlive_a_swap(lasting_page):
    link = '<summary id="more-summary">More</summary><a id="inside" href="#">Inside</a>'
    add_to_panel(lasting_page, f'<details id="more">{link}</details>')
    lasting_page.locator("#more-summary").click()
    lasting_page.locator("#inside").focus()
    send_news(lasting_page, 900)
    expect(lasting_page.locator("h1")).to_have_text("Version 900")
    expect(lasting_page.locator("#inside")).to_be_focused()
    expect(lasting_page.locator("#inside")).to_be_visible()


def test_focus_on_what_is_gone_stays_in_the_page(lasting_page):
    add_to_panel(lasting_page, '<button id="gone">Gone</button>')
    lasting_page.locator("#gone").focus()
    send_news(lasting_page, 900, without="#gone")
    expect(lasting_page.locator("#main")).to_be_focused()


def test_a_form_of_the_stream_can_be_sent(lasting_page):
    """It was rendered for nobody in particular, so it carries no token."""
    address = lasting_page.url + "/cancel"
    button = '<button id="send">Send</button>'
    add_to_panel(lasting_page, f'<form method="post" action="{address}">{button}</form>')
    with lasting_page.expect_response("**/cancel") as answered:
        lasting_page.locator("#send").click()
    assert answered.value.status == 303


def test_an_open_question_is_not_torn_away(lasting_page):
    add_to_panel(lasting_page, "<dialog>Really?</dialog>")
    lasting_page.evaluate("document.querySelector('dialog').showModal()")
    send_news(lasting_page, 900)
    assert lasting_page.locator("h1").inner_text() != "Version 900"
    lasting_page.evaluate("document.querySelector('dialog').close()")
    expect(lasting_page.locator("h1")).to_have_text("Version 900")
