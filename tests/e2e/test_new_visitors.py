"""A site that lets one new visitor a day in: the second reads why, loses nothing, and signs in."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.checkers import need_axe
from tests.e2e.conftest import SETTINGS
from tests.e2e.steps import expect_quota, expect_state, fill_form, order
from tests.e2e.test_axe import faults_in_all_looks
from tests.e2e.test_sign_in import MAKE_USER, PASSWORD, sign_in
from tests.site_process import Site

pytestmark = [pytest.mark.chromium, pytest.mark.site]

TYPED = "A harbour that nobody ordered yet"
SAYS = "Your network has reached today's limit for new visitors."
FIELD = "What should be in the picture?"


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"), **SETTINGS, NEW_VISITORS_A_DAY="1")
    try:
        site.start()
        for name in ("ana", "ben"):
            code = MAKE_USER.format(name, PASSWORD)
            site.run("shell", "--no-imports", "-c", code).check_returncode()
        yield site
    finally:
        site.stop()


@pytest.fixture(scope="module")
def first(chromium, site):
    """Who came first has the one place, and goes on ordering."""
    with chromium.new_context(base_url=site.url) as context:
        page = context.new_page()
        order(page)
        order(page, "Another one")
        yield page


@pytest.fixture
def second(first, someone):
    """second() is a page of somebody who comes after the first."""
    return lambda **options: someone(**options).new_page()


def send(page: Page) -> None:
    """By the keyboard: the button says that it is of no use, and can be pressed all the same."""
    page.locator("#generate").focus()
    page.keyboard.press("Enter")


def is_wide(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("java_script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("width", [1180, 320])
def test_the_second_reads_why_and_keeps_the_text(second, troubles, java_script, width):
    page = second(viewport={"width": width, "height": 700}, java_script_enabled=java_script)
    fill_form(page, TYPED)
    page.get_by_label("Landscape, 3:2").check()
    send(page)
    summary = page.locator("#error-summary")
    expect(summary).to_contain_text(SAYS)
    expect(summary).to_contain_text(re.compile(r"It resets at 00:00 UTC, in \d+ (h|min)"))
    expect(summary.get_by_role("link", name="Sign in")).to_be_visible()
    expect(page.get_by_label(FIELD)).to_have_value(TYPED)
    expect(page.get_by_label("Landscape, 3:2")).to_be_checked()
    expect_quota(page, "3 of 3 slots left today")
    if java_script:
        expect(summary).to_be_focused()
        assert not is_wide(page)
    troubles.clear()


def test_axe_has_nothing_to_say_against_it(second, troubles):
    page = second(reduced_motion="reduce")
    page.context.add_init_script(path=need_axe())
    page.goto("/images/new")
    assert faults_in_all_looks(page) == []
    fill_form(page, TYPED)
    send(page)
    expect(page.locator("#error-summary")).to_contain_text(SAYS)
    assert faults_in_all_looks(page) == []
    troubles.clear()


def test_it_is_read_before_anything_is_typed(second):
    page = second()
    page.goto("/images/new")
    expect(page.locator("#refusal")).to_contain_text(SAYS)
    expect(page.get_by_role("button", name="Generate")).to_have_attribute("aria-disabled", "true")


@pytest.mark.parametrize("java_script", [True, False], ids=["script", "no script"])
def test_signing_in_beside_it_is_the_way_on(second, troubles, java_script):
    page = second(java_script_enabled=java_script)
    fill_form(page, TYPED)
    send(page)
    with page.context.expect_page() as opened:
        page.locator("#error-summary").get_by_role("link", name="Sign in").click()
    sign_in(opened.value, "ana" if java_script else "ben")
    expect_quota(opened.value, "10 of 10 slots left today")
    send(page)
    expect(page.locator("#error-summary")).to_contain_text("Send it again.")
    expect(page.get_by_label(FIELD)).to_have_value(TYPED)
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/jobs/*")
    expect_state(page, "Ready")
    troubles.clear()
