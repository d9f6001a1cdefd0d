"""The staff's board in a browser: readable in both themes and narrow, refreshed where wished, and a
provider paused and resumed by hand."""

import pytest
from playwright.sync_api import expect

from tests.e2e.checkers import need_axe
from tests.e2e.test_axe import faults_in_all_looks

pytestmark = [pytest.mark.chromium, pytest.mark.site]

BOARD = "/admin/dashboard/"
SIDEWAYS = "[document.documentElement.scrollWidth, innerWidth]"
UNREACHABLE = """[...document.querySelectorAll('.board-table')].filter(region =>
    region.scrollWidth > region.clientWidth && (region.tabIndex !== 0
    || !(region.ariaLabel || region.getAttribute('aria-labelledby')))).length"""


@pytest.fixture
def troubles_of(visit):
    """A page of staff, and what its browser complained of."""
    page = visit("staff", reduced_motion="reduce")
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page, complaints


@pytest.mark.parametrize(
    "path", [BOARD, f"{BOARD}?refresh=15", f"{BOARD}sandbox/pause/", f"{BOARD}sandbox/resume/"]
)
def test_axe_finds_nothing(visit, path):
    page = visit("staff", reduced_motion="reduce")
    page.context.add_init_script(path=need_axe())
    page.goto(path, wait_until="load")
    for details in page.locator("details").all():
        details.locator("summary").click()
    assert faults_in_all_looks(page) == []


@pytest.mark.parametrize("width", [320, 1180])
def test_only_tables_scroll_sideways_and_the_keyboard_reaches_them(visit, width):
    page = visit("staff", viewport={"width": width, "height": 800})
    page.goto(BOARD)
    scrolled, inner = page.evaluate(SIDEWAYS)
    assert scrolled <= inner
    assert page.evaluate(UNREACHABLE) == 0


def test_index_leads_there_and_its_parts_are_told(troubles_of):
    page, complaints = troubles_of
    page.goto("/admin/")
    page.get_by_role("link", name="Dashboard: quota, providers, alerts").click()
    for heading in ("Alerts", "Now and today", "Providers", "Calls in doubt, oldest first",
                    "Top accounts today", "Cluster and schedules",
                    "Slot use, last 30 days"):  # fmt: skip
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    chart = page.get_by_role("img", name="Slots a day: used, on hold, given back")
    expect(chart).to_be_visible()
    page.get_by_text("The numbers", exact=True).click()
    expect(page.locator("details tbody tr")).to_have_count(30)
    assert complaints == []


def test_a_call_in_doubt_leads_to_its_own_page(visit):
    page = visit("staff")
    page.goto(BOARD)
    page.get_by_role("link", name="Call ").first.click()
    page.wait_for_url("**/admin/providers/call/*/change/")


def test_what_can_be_done_about_it_is_one_step_away(visit):
    page = visit("staff")
    page.goto(BOARD)
    page.get_by_role("link", name="Give back the slot of call ").first.click()
    page.wait_for_url("**/give-back/")
    expect(page.get_by_label("Reason")).to_be_visible()


def test_board_is_refreshed_only_where_its_reader_wished_so(troubles_of):
    page, complaints = troubles_of
    page.goto(BOARD)
    page.get_by_role("link", name="Refresh every 15 seconds").click()
    stamp = page.locator("#_board > p").first.inner_text()
    expect(page.locator("#_board > p").first).not_to_have_text(stamp)
    assert complaints == []
    page.get_by_role("link", name="Stop refreshing").click()
    expect(page.get_by_role("link", name="Refresh every 15 seconds")).to_be_visible()


def test_a_refresh_that_fails_says_so_and_leaves_the_board(visit):
    page = visit("staff")
    page.goto(f"{BOARD}?refresh=15")
    page.context.set_offline(True)
    lost = page.get_by_role("status").filter(has_text="Cannot reach the server")
    expect(lost).to_be_visible()
    expect(page.get_by_role("heading", name="Providers")).to_be_visible()


def test_a_provider_is_paused_and_resumed_without_a_script(visit):
    page = visit("staff", java_script_enabled=False)
    page.goto(BOARD)
    page.get_by_role("link", name="Pause sandbox").click()
    page.get_by_label("Reason").fill("It is too dear today")
    page.get_by_role("button", name="Pause it").click()
    expect(page.locator("#_board_providers")).to_contain_text("Paused by staff")
    page.get_by_role("link", name="Resume sandbox").click()
    page.get_by_label("Reason").fill("A new day")
    page.get_by_role("button", name="Resume it").click()
    expect(page.locator("#_board_providers")).not_to_contain_text("Paused by staff")
    page.goto("/admin/jobs/staffaction/")
    for words in ("provider resumed", "A new day", "provider paused", "It is too dear today"):
        expect(page.locator("#result_list")).to_contain_text(words)
