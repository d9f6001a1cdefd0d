"""What a person may do to a job and to the pages, with a script and without; and no complaint of
the browser about the policy, on the staff's pages neither."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import expect_quota, expect_state, order, order_slowly

pytestmark = [pytest.mark.chromium, pytest.mark.site]


@pytest.fixture
def plain_page(someone) -> Page:
    """A browser without JavaScript."""
    return someone(java_script_enabled=False).new_page()


def test_stop_waiting_asks_in_a_dialog_and_keeps_the_picture(page):
    order_slowly(page)
    page.get_by_role("link", name="Stop waiting").click()
    dialog = page.get_by_role("dialog", name="Stop waiting for this picture?")
    dialog.get_by_role("link", name="Keep waiting").click()
    expect(dialog).not_to_be_attached()
    expect(page.locator("#stop_waiting")).to_be_focused()
    page.get_by_role("link", name="Stop waiting").click()
    dialog.get_by_role("button", name="Stop waiting").click()
    expect(page.get_by_text("You stopped waiting at")).to_be_visible()
    expect_state(page, "Ready")
    expect_quota(page, "2 of 3 slots left today")


def test_escape_leaves_everything_as_it_was(page):
    order_slowly(page)
    page.get_by_role("link", name="Stop waiting").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_attached()
    expect_state(page, "Ready")
    expect(page.get_by_text("You stopped waiting")).not_to_be_attached()


def test_a_picture_is_deleted_by_a_dialog(page):
    order(page)
    expect_state(page, "Ready")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/gallery")
    expect(page.get_by_text("The picture was deleted.")).to_be_visible()
    expect(page.get_by_text("No pictures yet.")).to_be_visible()


def test_everything_works_without_a_script(plain_page):
    page = plain_page
    order_slowly(page)
    page.get_by_role("link", name="Stop waiting").click()
    page.get_by_role("button", name="Stop waiting").click()
    expect(page.get_by_text("You stopped waiting at")).to_be_visible()
    expect_state(page, "Ready")
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The picture was deleted.")).to_be_visible()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_what_only_a_script_can_do_is_not_shown_without_one(visit, room):
    page = visit("ana", java_script_enabled=False)
    page.goto(room.sights["job-ready"].path)
    assert page.locator("#copy-number").count() == 1
    assert not page.locator("#copy-number").is_visible()


def test_another_try_is_linked_to_the_first(page):
    order(page, fault="fail")
    expect_state(page, "Failed")
    page.locator("#again, #edit").click()
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/jobs/*")
    expect(page.get_by_text("Try 2")).to_be_visible()
    page.get_by_role("link", name="Earlier try").click()
    expect(page.locator("#later-try")).to_have_text("Try 2")


def test_the_theme_changes_at_once_and_stays(page):
    page.goto("/images/new")
    page.get_by_label("What should be in the picture?").fill("An unsent prompt")
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("body")).to_have_css("background-color", "rgb(16, 20, 24)")
    expect(page.get_by_label("What should be in the picture?")).to_have_value("An unsent prompt")
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Match device").click()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_times_are_shown_in_local_time_beside_utc(someone):
    page = someone(timezone_id="Asia/Tokyo", locale="en-GB").new_page()
    page.goto("/")
    expect(page.locator(".meter time")).to_have_text("00:00 UTC (09:00 GMT+9)")


def test_the_staffs_pages_keep_to_the_policy(site, page, troubles):
    made = site.run("createsuperuser", "--no-input", "--username=boss", "--email=b@example.org")
    made.check_returncode()
    page.goto("/admin/login/")
    page.get_by_label("Username").fill("boss")
    page.get_by_label("Password").fill("staff's password")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Staff")).to_be_visible()
    links = page.locator("#content-main a").evaluate_all("links => links.map(a => a.pathname)")
    assert len(links) > 10
    for path in sorted(set(links)):
        page.goto(path)
        page.wait_for_load_state("load")
    assert troubles == []
