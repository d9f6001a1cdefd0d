"""What a person sees while the site cannot do what it should, and how they go on."""

from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.chromium, pytest.mark.site]

INK = "rgb(16, 20, 24)"
AWAY = "Try again in a minute"
TYPED = "What must not be lost"


@contextmanager
def database_away(room):
    """A way to a folder is where its file was; never nothing, or SQLite would begin a new one."""
    file = Path(room.site.settings["DATA_DIR"]) / "counterfoil.sqlite3"
    aside, astray = file.with_suffix(".aside"), file.with_suffix(".astray")
    aside.hardlink_to(file)
    astray.symlink_to(file.parent)
    astray.replace(file)
    try:
        yield
    finally:
        aside.replace(file)


def fill_form(page) -> None:
    page.goto("/images/new")
    page.get_by_label("What should be in the picture?").fill(TYPED)


def test_the_page_of_an_outage_is_whole_and_leads_on(visit, room):
    page = visit("ana", color_scheme="dark")
    complaints = []
    page.on("console", lambda said: complaints.append(said.text))
    with database_away(room):
        assert page.goto(room.sights["job-ready"].path).status == 503
        expect(page.get_by_role("heading", level=1)).to_have_text(AWAY)
        expect(page.locator("body")).to_have_css("background-color", INK)
        assert not [text for text in complaints if "503" not in text]
    page.get_by_role("link", name="Go to home page").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Make a picture")


@pytest.mark.parametrize("javascript", [True, False], ids=["live", "plain"])
def test_a_form_sent_into_an_outage_says_so_and_is_kept(visit, room, javascript):
    page = visit("ana", java_script_enabled=javascript)
    fill_form(page)
    with database_away(room):
        page.get_by_role("button", name="Generate").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(AWAY)
    page.go_back()
    expect(page.get_by_label("What should be in the picture?")).to_have_value(TYPED)


def test_a_form_whose_answer_was_lost_is_sent_again_by_itself(visit):
    """Once: its key makes the two one order."""
    page = visit("ben")
    fill_form(page)
    page.route("**/images/new", lambda route: route.abort(), times=1)
    page.get_by_role("button", name="Generate").press("Enter")
    expect(page.locator("#error-summary")).to_contain_text("are used or on hold")


def test_more_that_cannot_be_added_in_place_is_a_page(visit):
    page = visit("cy")
    page.goto("/gallery")
    page.route("**/gallery*", lambda route: route.abort(), times=1)
    page.get_by_role("link", name="Load more").click()
    page.wait_for_url("**/gallery?show=all&page=2")
    expect(page.locator(".tile")).to_have_count(2)


def test_a_page_that_cannot_ask_for_its_parts_stays(visit, room):
    page = visit("ana")
    page.goto("/")
    with database_away(room), page.expect_response(lambda answer: answer.status == 503):
        pass
    expect(page.get_by_role("heading", name="In progress")).to_be_visible()
    with page.expect_response(lambda answer: answer.status == 200):
        pass
    expect(page.get_by_role("heading", name="In progress")).to_be_visible()
