"""After signing out no Back button shows what the last person saw, in a browser that keeps the
pages one has left."""

import pytest
from playwright.sync_api import Page

from tests.e2e.browser import OPTIONS, find_chromium
from tests.e2e.conftest import PATIENCE
from tests.e2e.show_room import PROMPTS
from tests.e2e.steps import fill_form

MARKS = [*PROMPTS.values(), "A study in", "Sign out ana", "Dashboard", "A pond of ours"]


@pytest.fixture
def context(chromium, room):
    browser = chromium.browser_type.launch(
        executable_path=find_chromium(),
        args=OPTIONS,
        ignore_default_args=["--disable-back-forward-cache"],
    )
    context = browser.new_context(base_url=room.url, viewport={"width": 800, "height": 500})
    context.set_default_timeout(PATIENCE)
    yield context
    browser.close()


@pytest.fixture
def page(context) -> Page:
    return context.new_page()


def sign_in(page: Page, name: str) -> None:
    page.goto("/sign-in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(name)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=f"Sign out {name}").wait_for()


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Sign in", exact=True).first.wait_for()


def seen_by_back(page: Page, times: int) -> dict[str, list[str]]:
    """By address, the words of another person that each step back shows."""
    seen = {}
    for _ in range(times):
        with page.expect_event("framenavigated"):
            page.evaluate("history.back()")
        page.wait_for_function("document.readyState === 'complete'")
        text = page.locator("body").inner_text()
        seen[page.url] = [mark for mark in MARKS if mark in text]
    return seen


def paths(room, *names: str) -> list[str]:
    return [room.sights[name].path for name in names]


OF_ANA = ("home", "picture", "job-ready", "job-lost", "reuse", "confirm-delete", "gallery")


@pytest.mark.chromium
@pytest.mark.site
def test_no_page_of_hers_is_shown(page, room):
    sign_in(page, "ana")
    visited = paths(room, *OF_ANA)
    for path in visited:
        page.goto(path)
        assert any(mark in page.locator("body").inner_text() for mark in MARKS), path
    sign_out(page)
    seen = seen_by_back(page, len(visited))
    assert len(seen) == len(visited)
    assert [url for url, marks in seen.items() if marks] == []


@pytest.mark.chromium
@pytest.mark.site
def test_nor_to_the_next_person_nor_in_a_second_tab(context, page, room):
    sign_in(page, "ana")
    page.goto("/gallery")
    page.goto("/images/new")
    second = context.new_page()
    second.goto("/")
    sign_out(second)
    sign_in(second, "cy")
    assert seen_by_back(page, 1) == {f"{room.url}/gallery": []}


@pytest.mark.chromium
@pytest.mark.site
def test_nor_what_a_visitor_did_before_they_signed_in(page, room):
    fill_form(page, "A pond of ours")
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/jobs/*")
    page.goto("/gallery")
    sign_in(page, "ben")
    sign_out(page)
    seen = seen_by_back(page, 4)
    assert any("/jobs/" in url for url in seen)
    assert [url for url, marks in seen.items() if marks] == []


@pytest.mark.chromium
@pytest.mark.site
def test_nor_a_page_of_staff(page, room):
    page.goto("/admin/login/?next=/admin/")
    page.get_by_label("Username").fill("staff")
    page.get_by_label("Password").fill("staff")
    page.get_by_role("button", name="Log in").click()
    for path in ("/admin/dashboard/", "/admin/jobs/job/", "/admin/"):
        page.goto(path)
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("link", name="Sign in", exact=True).first.wait_for()
    assert [url for url, marks in seen_by_back(page, 3).items() if marks] == []


@pytest.mark.chromium
@pytest.mark.site
def test_nor_the_file_of_a_picture_from_the_cache(page, room):
    sign_in(page, "ana")
    (path,) = paths(room, "picture")
    for part in ("/file", "/small"):
        assert page.goto(path + part).ok
    page.goto("/")
    sign_out(page)
    assert [page.goto(path + part).status for part in ("/file", "/small")] == [404, 404]


@pytest.mark.chromium
@pytest.mark.site
def test_back_to_the_gallery_keeps_its_place(page, room):
    sign_in(page, "cy")
    page.goto("/gallery")
    page.evaluate("scrollTo(0, 700)")
    page.wait_for_function("scrollY === 700")
    page.locator(".tile a").nth(9).evaluate("tile => tile.click()")
    page.wait_for_url("**/jobs/*")
    page.evaluate("history.back()")
    page.wait_for_function("location.pathname === '/gallery' && scrollY === 700")
