"""What a person reads when something goes wrong, and who may see what."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.e2e.steps import PROMPT, expect_quota, expect_state, is_drawing_of, order
from tests.site_process import resume

pytestmark = [pytest.mark.chromium, pytest.mark.site]

# Fault of the form, state, a sentence, what the header then says of the quota.
ENDS = [
    ("fail", "Failed", "The provider reported an error.", "3 of 3 slots left today"),
    (
        "http_402",
        "Failed",
        "This site has run out of credit with the provider.",
        "3 of 3 slots left today",
    ),
    ("http_422", "Failed", "The provider refused this prompt", "3 of 3 slots left today"),
    (
        "result_wrong_type",
        "Confirming",
        "The picture was made, but we cannot read it. Staff have been notified.",
        "2 of 3 slots left today · 1 on hold",
    ),
    (
        "drop_after",
        "Confirming",
        ("It may have made the picture and charged for it, so we did not send the request again."),
        "2 of 3 slots left today · 1 on hold",
    ),
    (
        "html_502",
        "Confirming",
        "does not say whether it accepted the request.",
        "2 of 3 slots left today · 1 on hold",
    ),
    ("poll_flaky", "Ready", "Ready in", "2 of 3 slots left today"),
]


@pytest.mark.parametrize(("fault", "word", "says", "quota"), ENDS, ids=[end[0] for end in ENDS])
def test_page_says_what_is_known(page, fault, word, says, quota):
    order(page, fault=fault)
    expect_state(page, word)
    expect(page.locator("main")).to_contain_text(says)
    expect_quota(page, quota)


def test_a_doubt_is_neither_called_failed_nor_offered_again(page):
    order(page, fault="drop_after")
    expect_state(page, "Confirming")
    assert "Failed" not in page.locator("body").inner_text()
    assert page.locator(".actions").get_by_role("link").count() == 0
    assert page.locator(".actions").get_by_role("button").count() == 0


def test_a_failure_is_tried_again_with_the_same_prompt(page):
    order(page, fault="http_402")
    page.get_by_role("link", name="Try again").click()
    expect(page.get_by_label("What should be in the picture?")).to_have_value(PROMPT)
    page.get_by_role("button", name="Generate").click()
    expect_state(page, "Ready")
    expect_quota(page, "2 of 3 slots left today")


@contextmanager
def sleeping_cluster(site):
    """No worker takes anything until the block ends."""
    site.wait_until(site.is_whole)
    sleeping = site.suspend("cluster")
    try:
        yield
    finally:
        resume(sleeping)


@pytest.mark.parametrize("javascript", [True, False], ids=["live", "plain"])
def test_cancelling_what_waits_gives_the_slot_back(site, someone, javascript):
    page = someone(java_script_enabled=javascript).new_page()
    with sleeping_cluster(site):
        order(page)
        expect_state(page, "Queued")
        expect_quota(page, "2 of 3 slots left today · 1 on hold")
        page.get_by_role("button", name="Cancel").click()
        expect_state(page, "Cancelled")
    expect_quota(page, "3 of 3 slots left today")
    expect(page.locator("main")).to_contain_text("You cancelled this request before we sent it.")


def test_cancelling_too_late_says_so(site, someone):
    context = someone()
    stale, fresh = context.new_page(), context.new_page()
    with sleeping_cluster(site):
        order(stale)
        expect_state(stale, "Queued")
        # Told nothing new, the page keeps its button.
        stale.get_by_role("button", name="Pause live updates").click()
    context.clear_cookies(name="live")
    fresh.goto(stale.url)
    expect_state(fresh, "Ready")
    stale.get_by_role("button", name="Cancel").click()
    expect(stale.locator(".messages")).to_contain_text("Too late to cancel.")
    expect_state(stale, "Ready")
    expect_quota(stale, "2 of 3 slots left today")


def test_ben_sees_nothing_of_anas(someone, troubles):
    ana, ben = someone().new_page(), someone().new_page()
    order(ana)
    job = ana.url
    ana.get_by_role("link", name=PROMPT).click()
    ana.wait_for_url("**/images/*")
    for address in (job, ana.url, f"{ana.url}/file", f"{ana.url}/file?download"):
        assert ben.goto(address).status == 404
        expect(ben.get_by_role("heading")).to_have_text("Page not found")
    ben.goto("/gallery")
    expect(ben.locator("main")).to_contain_text("No pictures yet.")
    troubles.clear()


def test_picture_opens_alone_in_full(page):
    order(page)
    page.get_by_role("link", name=PROMPT).click()
    file = page.locator("figure img").get_attribute("src")
    assert is_drawing_of(PROMPT, page.request.get(file).body())


def test_staff_sign_in_by_the_header_and_see_their_own_quota(site, page):
    made = site.run("createsuperuser", "--no-input", "--username=staff", "--email=s@example.org")
    made.check_returncode()
    page.goto("/gallery")
    page.get_by_role("link", name="Sign in").click()
    page.get_by_label("Name").fill("staff")
    page.get_by_label("Password").fill("staff's password")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/gallery")
    expect_quota(page, "1000 of 1000 slots left today")
    page.get_by_role("button", name="Sign out staff").click()
    expect_quota(page, "3 of 3 slots left today")
