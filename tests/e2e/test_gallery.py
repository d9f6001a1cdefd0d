"""More of the gallery: in place with a script, by a page of its own without one."""

import pytest
from playwright.sync_api import expect

from jobs.web.views.gallery import A_PAGE

pytestmark = [pytest.mark.chromium, pytest.mark.site]

ALL = A_PAGE + 2


def test_more_is_added_in_place_and_the_first_of_it_has_the_focus(visit):
    page = visit("cy")
    page.goto("/gallery")
    expect(page.locator(".tile")).to_have_count(A_PAGE)
    page.evaluate("window.neverLeft = true")
    page.get_by_role("link", name="Load more").click()
    expect(page.locator(".tile")).to_have_count(ALL)
    expect(page.get_by_role("link", name=f"Try {A_PAGE + 1}")).to_be_focused()
    assert page.evaluate("window.neverLeft")


def test_more_is_a_whole_page_without_a_script(visit):
    page = visit("cy", java_script_enabled=False)
    page.goto("/gallery")
    page.get_by_role("link", name="Load more").click()
    expect(page.get_by_role("heading", name="Gallery")).to_be_visible()
    expect(page.locator(".tile")).to_have_count(ALL - A_PAGE)


def test_back_after_more_was_added_gives_the_whole_page(visit):
    page = visit("cy")
    page.goto("/gallery")
    page.get_by_role("link", name="Load more").click()
    page.get_by_role("link", name=f"Try {ALL}").click()
    expect(page.get_by_role("heading", name=f"Try {ALL}")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    expect(page.get_by_role("heading", name="Gallery")).to_be_visible()
    expect(page.locator(".tile").first).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/gallery"])
def test_back_to_a_page_that_asked_for_its_parts_gives_the_whole_page(visit, path):
    page = visit("ana")
    with page.expect_response(
        lambda answer: (
            "HX-Request" in answer.headers.get("vary", "")
            and "hx-request" in answer.request.headers
        )
    ):
        page.goto(path)
    page.goto("/images/new")
    page.go_back()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("contentinfo")).to_be_visible()


def test_every_filter_is_a_page_without_a_script(visit):
    page = visit("ana", java_script_enabled=False)
    page.goto("/gallery")
    for name, word in {
        "Ready": "Ready",
        "In progress": "Generating",
        "Without a result": "Failed",
    }.items():
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("link", name=name, exact=True)).to_have_attribute(
            "aria-current", "page"
        )
        expect(page.locator(".tile .chip", has_text=word).first).to_be_visible()
