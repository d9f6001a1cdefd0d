"""A page that stays open while parts of the site are killed goes on by itself."""

import pytest
from playwright.sync_api import expect

from tests.e2e.steps import PROMPT, expect_quota, expect_state, order

pytestmark = [pytest.mark.chromium, pytest.mark.site]


@pytest.fixture
def whole_site(site):
    """Healed from the test before."""
    site.wait_until(site.is_whole)
    return site


def expect_delivery(page) -> None:
    expect_state(page, "Ready")
    expect(page.get_by_role("img", name=PROMPT)).to_be_visible()
    expect_quota(page, "2 of 3 slots left today")
    assert page.evaluate("window.neverLeft")


def order_and_stay(page) -> None:
    order(page, fault="slow_14")
    page.evaluate("window.neverLeft = true")


def test_the_web_process_is_killed(whole_site, page, troubles):
    order_and_stay(page)
    whole_site.kill("web")
    whole_site.wait_until(whole_site.is_whole)
    expect_delivery(page)
    troubles.clear()


def test_the_cluster_is_killed(whole_site, page):
    order_and_stay(page)
    expect_state(page, "Generating")
    whole_site.kill_group("cluster")
    expect_delivery(page)


def test_the_ticker_is_killed(whole_site, page):
    order_and_stay(page)
    expect_state(page, "Generating")
    whole_site.kill("ticker")
    expect_delivery(page)
