"""From the first page to the file, as somebody does it who has never been here."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import is_quiet
from tests.e2e.steps import (
    PROMPT,
    asked_by,
    expect_quota,
    expect_state,
    fill_form,
    is_drawing_of,
    order,
    tab_to,
)

pytestmark = [pytest.mark.chromium, pytest.mark.site]

WATCH_STEPS = """() => {
    window.seen = [];
    const look = () => {
        const now = document.querySelector('[aria-current=step] .step-title');
        const name = now ? now.firstChild.textContent.trim() : 'none';
        if (window.seen.at(-1) !== name) window.seen.push(name);
    };
    look();
    new MutationObserver(look).observe(document.body, {childList: true, subtree: true});
}"""


def saved(page, name: str = "Download") -> bytes:
    with page.expect_download() as download:
        page.get_by_role("link", name=name).click()
    return download.value.path().read_bytes()


def test_from_the_first_page_to_the_file_by_clicks(page):
    page.goto("/")
    expect_quota(page, "3 of 3 slots left today")
    page.get_by_role("link", name="Make a picture").click()
    page.get_by_label("What should be in the picture?").fill(PROMPT)
    # Slow enough to be seen on hold.
    page.get_by_label("Simulate a problem (test provider)").select_option("slow_14")
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/jobs/*")
    expect_quota(page, "2 of 3 slots left today · 1 on hold")
    expect(page.get_by_role("img", name=PROMPT)).to_be_visible()
    expect_state(page, "Ready")
    expect_quota(page, "2 of 3 slots left today")
    page.get_by_role("link", name="Gallery").click()
    expect(page.locator("#tiles img")).to_have_count(1)
    page.get_by_role("link", name=PROMPT).click()
    page.get_by_role("link", name=PROMPT).click()
    page.wait_for_url("**/images/*")
    assert is_drawing_of(PROMPT, saved(page))


def test_the_terminal_stays_quiet(site, page):
    earlier = len(site.logs())
    order(page)
    expect_state(page, "Ready")
    assert is_quiet(site.logs()[earlier:])


def test_the_stages_go_by_without_a_reload(page):
    order(page, fault="slow_14")
    page.evaluate(WATCH_STEPS)
    expect_state(page, "Ready")
    seen = page.evaluate("window.seen")
    assert "Generating" in seen
    assert seen[-1] == "none"
    expect(page).to_have_title(f"Ready · {PROMPT} · Counterfoil")
    expect(page.locator("#status")).to_contain_text("Ready in")


def test_the_tab_has_a_dot_that_follows_the_job(page):
    order(page, fault="slow_14")
    dot = page.locator("head link[rel=icon]")
    expect(dot).to_have_attribute("href", re.compile("icon-running"))
    expect_state(page, "Ready")
    expect(dot).to_have_attribute("href", re.compile("icon-ready"))
    assert page.request.get(dot.get_attribute("href")).headers["content-type"] == "image/svg+xml"


def test_the_questions_end_with_the_job(page):
    page.clock.install()
    order(page)
    expect_state(page, "Ready")
    page.wait_for_load_state("networkidle")
    asked = asked_by(page)
    page.clock.run_for(300_000)
    assert asked == []


def test_by_keyboard_alone(page):
    page.goto("/")
    tab_to(page, "New picture")
    page.keyboard.press("Enter")
    page.wait_for_url("**/images/new?form=*")
    tab_to(page, "What should be in the picture?")
    page.keyboard.type(PROMPT)
    tab_to(page, "Generate")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/*")
    expect_state(page, "Ready")
    tab_to(page, "Download")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert is_drawing_of(PROMPT, download.value.path().read_bytes())


def test_the_first_tab_key_offers_to_skip_the_header(page):
    page.goto("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_without_javascript(someone):
    page = someone(java_script_enabled=False).new_page()
    order(page, fault="slow_14")
    expect(page.get_by_role("link", name="Refresh")).to_be_visible()
    expect_state(page, "Ready")
    expect_quota(page, "2 of 3 slots left today")
    assert is_drawing_of(PROMPT, saved(page))


def test_the_refresh_link_does_without_waiting(someone):
    page = someone(java_script_enabled=False).new_page()
    order(page, fault="slow_14")
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("link", name="Refresh").click()
    assert page.locator("h1").inner_text() == PROMPT


@pytest.mark.parametrize("javascript", [True, False], ids=["live", "plain"])
def test_a_double_click_orders_once(someone, javascript):
    page = someone(java_script_enabled=javascript).new_page()
    fill_form(page)
    page.get_by_role("button", name="Generate").dblclick()
    page.wait_for_url("**/jobs/*")
    assert_one_job(page)


@pytest.mark.parametrize("javascript", [True, False], ids=["live", "plain"])
def test_going_back_and_sending_again_finds_the_same_job(someone, javascript):
    page = someone(java_script_enabled=javascript).new_page()
    order(page)
    first = page.url
    page.go_back()
    page.wait_for_url("**/images/new?form=*")
    assert page.get_by_label("What should be in the picture?").input_value() == PROMPT
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/jobs/*")
    assert page.url == first
    assert_one_job(page)


def assert_one_job(page) -> None:
    page.goto("/gallery")
    expect(page.locator(".tile")).to_have_count(1)
    expect(page.locator("#quota")).to_contain_text("2 of 3 slots left today")


def test_an_empty_prompt_is_told_where_it_is_missing(page, troubles):
    fill_form(page, "")
    page.get_by_role("button", name="Generate").click()
    expect(page.locator("#error-summary")).to_be_focused()
    page.locator("#error-summary").get_by_role("link").click()
    expect(page.get_by_label("What should be in the picture?")).to_be_focused()
    troubles.clear()


def test_the_second_of_two_tabs_hears_that_the_last_slot_is_gone(someone, troubles):
    context = someone()
    first, second = context.new_page(), context.new_page()
    order(first)
    order(first)
    fill_form(second, "What the second tab wants")
    order(first)
    second.get_by_role("button", name="Generate").click()
    expect(second.locator("#error-summary")).to_contain_text(
        "All 3 of today's slots are used or on hold."
    )
    typed = second.get_by_label("What should be in the picture?")
    assert typed.input_value() == "What the second tab wants"
    expect(second.locator("#quota")).to_contain_text("0 of 3 slots left today")
    expect(second.get_by_role("button", name="Generate")).to_have_attribute("aria-disabled", "true")
    troubles.clear()
