"""The pages on which staff decide: axe has nothing to say, and nothing scrolls sideways."""

import pytest
from playwright.sync_api import expect

from tests.e2e.checkers import need_axe
from tests.e2e.test_axe import faults_in_all_looks

pytestmark = [pytest.mark.chromium, pytest.mark.site]

LOST = "/admin/providers/call/?state__exact=unknown"
DECISIONS = {"slot back": "/give-back/", "id": "/attach/"}


@pytest.fixture
def page(visit):
    # What would be caught between two colours does not move.
    page = visit("staff", reduced_motion="reduce")
    page.context.add_init_script(path=need_axe())
    page.goto(LOST)
    page.locator("#result_list tbody th a").first.click()
    page.wait_for_url("**/change/**")
    return page


def is_too_wide(page) -> bool:
    page.set_viewport_size({"width": 320, "height": 800})
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("decision", DECISIONS.values(), ids=DECISIONS)
def test_page_of_a_decision_as_it_comes_and_with_its_errors(page, decision):
    page.goto(page.url.replace("/change/", decision))
    faults = faults_in_all_looks(page)
    assert not is_too_wide(page)
    page.locator("form#staff-action").evaluate("form => { form.noValidate = true; form.submit(); }")
    page.locator("#staff-action .errorlist").first.wait_for()
    assert faults + faults_in_all_looks(page) == []
    assert not is_too_wide(page)


def test_several_calls_are_a_table_that_scrolls_in_itself(page):
    page.goto("/admin/providers/call/?in_doubt=yes")
    for box in page.locator("input.action-select").all():
        box.check()
    page.get_by_label("Action:").select_option("check_now")
    page.get_by_role("button", name="Go").click()
    expect(page.locator(".action-facts tr").nth(2)).to_be_visible()
    assert faults_in_all_looks(page) == []
    assert not is_too_wide(page)
