"""Staff decide in the admin, and a person's page follows: slot, call, job and words."""

import re

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.e2e.checkers import need_axe
from tests.e2e.conftest import SETTINGS
from tests.e2e.steps import expect_quota, expect_state, order
from tests.e2e.test_axe import faults_in_all_looks
from tests.e2e.test_staff_looks import is_too_wide
from tests.site_process import Site

pytestmark = [pytest.mark.chromium, pytest.mark.site]

REASON = "asked by phone"
SCRIPT = pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
MAKE_STAFF = ("createsuperuser", "--no-input", "--username=staff", "--email=s@example.org")


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory):
    """Without limits: whoever decides here is quicker than a person could be."""
    site = Site(tmp_path_factory.mktemp("site"), **(SETTINGS | {"RATE_LIMITS": "OFF"}))
    try:
        yield site.start()
    finally:
        site.stop()


@pytest.fixture(scope="module")
def staff_of_site(site):
    site.run(*MAKE_STAFF).check_returncode()
    yield
    audit = site.run("audit")
    assert (audit.returncode, audit.stdout) == (0, "audit: no violation\n"), audit.stderr


@pytest.fixture
def staff(someone, staff_of_site):
    """staff() is a page of the admin."""

    def come(script: bool = True) -> Page:
        page = someone(java_script_enabled=script).new_page()
        page.goto("/admin/login/")
        page.get_by_label("Username:").fill("staff")
        page.get_by_label("Password:").fill("staff's password")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/admin/")
        return page

    return come


def job_of(page: Page) -> str:
    return page.url.rpartition("/")[2]


def open_call(page: Page, job: str) -> None:
    page.goto(f"/admin/providers/call/?q={job}")
    page.locator("#result_list tbody th a").click()
    page.wait_for_url("**/change/**")


def decide(page: Page, what: str, yes: str = "", **fields: str) -> None:
    """From the call's page."""
    page.get_by_role("link", name=what).click()
    confirm(page, yes or what, **fields)


def confirm(page: Page, yes: str, **fields: str) -> None:
    expect(page.get_by_role("heading", name="What will happen")).to_be_visible()
    for label, text in ({"Reason": REASON} | fields).items():
        page.get_by_label(f"{label}:").fill(text)
    page.get_by_role("button", name=yes).click()


def attach_seen(page: Page) -> None:
    """Once the provider has confirmed the id."""
    expect(page.get_by_role("heading", name="What the provider says about this id")).to_be_visible()
    expect(page.locator(".errornote")).to_have_count(0)
    page.get_by_role("button", name="Attach the id").click()
    expect_told(page, "The id was attached. The provider says:")


def expect_told(page: Page, text: str) -> None:
    expect(page.locator(".messagelist")).to_contain_text(text)


def value(page: Page, name: str) -> str:
    return page.locator(f".field-{name} .readonly").first.inner_text().strip()


def states(page: Page, job: str) -> tuple[str, str, str]:
    """Of attempt, call and job, as the admin shows them."""
    open_call(page, job)
    call = value(page, "state")
    page.goto(f"/admin/jobs/job/{job}/change/")
    state, attempt = value(page, "state"), value(page, "attempt_id")
    page.goto(f"/admin/quotas/attempt/{attempt}/change/")
    return value(page, "state"), call, state


def run_of(site, job: str) -> str:
    """The id under which the provider has it, as staff would read in its own history."""
    bill = requests.get(f"{site.sandbox_url}/_ledger?work=image:{job}", timeout=60).json()
    [generation] = bill["generations"]
    return generation["id"]


def come_back_until(site, page: Page, word: str) -> None:
    """The page of a job that ended follows nothing by itself."""
    chip = page.locator("h1 + .chip")
    site.wait_until(lambda: (page.reload(), chip.inner_text())[1] == word)


@SCRIPT
def test_the_slot_goes_back_and_the_picture_comes_all_the_same(site, page, staff, script):
    order(page, fault="drop_after")
    expect_state(page, "Confirming")
    expect_quota(page, "2 of 3 slots left today · 1 on hold")
    job, desk = job_of(page), staff(script)
    open_call(desk, job)
    decide(desk, "Give the slot back")
    expect_told(desk, "The slot was given back.")
    expect(desk.locator("#content")).to_contain_text(REASON)
    expect_state(page, "Failed")
    expect(page.get_by_role("heading", name="We could not confirm this one")).to_be_visible()
    expect(page.locator("main")).to_contain_text(
        "We have not found out whether the picture was made. If it still arrives, it "
        "is yours and uses no slot. Your slot was given back."
    )
    expect_quota(page, "3 of 3 slots left today")
    assert states(desk, job) == ("given back", "given up", "Failed")

    open_call(desk, job)
    found = {"The provider's id": run_of(site, job)}
    decide(desk, "Attach a provider id", "Ask the provider", **found)
    attach_seen(desk)
    come_back_until(site, page, "Ready")
    expect(page.locator("main")).to_contain_text("this picture used none")
    expect_quota(page, "3 of 3 slots left today")
    assert states(desk, job) == ("given back", "given up", "Ready")


@SCRIPT
def test_a_lost_call_is_given_its_id(site, page, someone, staff, troubles, script):
    other, desk = someone().new_page(), staff(script)
    order(other)
    order(page, fault="drop_after")
    expect_state(other, "Ready")
    expect_state(page, "Confirming")
    job = job_of(page)
    open_call(desk, job)
    found = {"The provider's id": run_of(site, job_of(other))}
    decide(desk, "Attach a provider id", "Ask the provider", **found)
    expect(desk.locator(".errornote")).to_contain_text("This id belongs to another call: number")
    expect(desk.get_by_label("Reason:")).to_have_value(REASON)
    expect_state(page, "Confirming")
    confirm(desk, "Ask the provider", **{"The provider's id": "gen_of_nobody"})
    expect(desk.locator(".errornote")).to_contain_text("The provider does not confirm this id")
    confirm(desk, "Ask the provider", **{"The provider's id": run_of(site, job)})
    attach_seen(desk)
    expect_state(page, "Ready")
    expect(page.locator("main")).to_contain_text(
        "Staff matched this request to a run at the provider."
    )
    expect_quota(page, "2 of 3 slots left today")
    assert states(desk, job) == ("used", "succeeded", "Ready")
    assert all("409" in trouble for trouble in troubles)
    troubles.clear()


@SCRIPT
def test_a_look_brings_what_was_made_after_all(site, page, staff, script):
    order(page, fault="failed_then_completed")
    expect_state(page, "Failed")
    expect_quota(page, "3 of 3 slots left today")
    job, desk = job_of(page), staff(script)
    if script:
        open_call(desk, job)
        decide(desk, "Check now")
    else:
        desk.goto(f"/admin/providers/call/?q={job}")
        desk.locator("input.action-select").check()
        desk.get_by_label("Action:").select_option("check_now")
        desk.get_by_role("button", name="Go").click()
        confirm(desk, "Check now")
    expect_told(desk, "Checking 1 call.")
    come_back_until(site, page, "Ready")
    expect(page.locator("main")).to_contain_text("this picture used none")
    expect_quota(page, "3 of 3 slots left today")
    assert states(desk, job) == ("given back", "failed", "Ready")


@SCRIPT
def test_slots_are_granted_and_taken_back(page, staff, script):
    order(page)
    expect_state(page, "Ready")
    expect_quota(page, "2 of 3 slots left today")
    desk = staff(script)
    desk.goto(f"/admin/jobs/job/{job_of(page)}/change/")
    desk.goto(f"/admin/quotas/account/{value(desk, 'account_id')}/change/")
    desk.get_by_role("link", name="Grant extra slots").click()
    desk.get_by_label("Extra slots:").fill("4")
    desk.get_by_role("button", name="Save", exact=True).click()
    expect(desk.locator(".errorlist")).to_have_text("This field is required.")
    desk.get_by_label("Reason:").fill(REASON)
    desk.get_by_role("button", name="Save", exact=True).click()
    expect_told(desk, "was added successfully")
    page.reload()
    expect_quota(page, "6 of 7 slots left today")

    desk.goto("/admin/quotas/grant/")
    desk.locator("#result_list tbody th a").first.click()
    decide(desk, "Take the grant back", "Take it back")
    expect_told(desk, "The grant was taken back.")
    page.reload()
    expect_quota(page, "2 of 3 slots left today")
    desk.goto("/admin/jobs/staffaction/")
    for number, words in enumerate(("grant taken back", "slots granted")):
        row = desk.locator("#result_list tbody tr").nth(number)
        expect(row).to_contain_text(re.compile(f"{words}.*staff.*{REASON}", re.DOTALL))


def test_what_the_provider_says_of_an_id_breaks_no_rule(site, page, staff):
    order(page, fault="drop_after")
    expect_state(page, "Confirming")
    desk = staff()
    desk.emulate_media(reduced_motion="reduce")
    desk.context.add_init_script(path=need_axe())
    open_call(desk, job_of(page))
    found = {"The provider's id": run_of(site, job_of(page))}
    decide(desk, "Attach a provider id", "Ask the provider", **found)
    expect(desk.get_by_role("heading", name="What the provider says about this id")).to_be_visible()
    assert faults_in_all_looks(desk) == []
    assert not is_too_wide(desk)


def set_aside(site, job: str) -> None:
    """As the ticker leaves a stage that killed its worker three times."""
    rests = "tries=3, woken_at=None, due_at=timezone.now() + timedelta(minutes=30)"
    free = f"Stage.objects.unfinished().filter(job_id='{job}', lease_token=None)"
    imports = "from datetime import timedelta; from django.utils import timezone"
    code = f"{imports}; print({free}.update({rests}))"
    site.wait_until(lambda: site.run("shell", "-c", code).stdout.split()[-1:] == ["1"])


@SCRIPT
def test_a_paused_provider_and_a_stage_set_aside_wait_for_staff(site, page, staff, script):
    desk = staff(script)
    desk.goto("/admin/dashboard/")
    decide(desk, "Pause sandbox", "Pause it")
    expect_told(desk, "Paused: sandbox.")
    order(page)
    expect_state(page, "Queued")
    set_aside(site, job_of(page))
    desk.get_by_role("link", name="Resume sandbox").click()
    confirm(desk, "Resume it")
    expect_told(desk, "Resumed: sandbox.")
    desk.goto("/admin/jobs/job/?aside=yes")
    if script:
        desk.locator("#result_list tbody th a").click()
        decide(desk, "Resume")
    else:
        desk.locator("input.action-select").check()
        desk.get_by_label("Action:").select_option("resume")
        desk.get_by_role("button", name="Go").click()
        expect_state(page, "Queued")
        confirm(desk, "Resume")
    expect_told(desk, "Resumed 1 job.")
    expect_state(page, "Ready")
    desk.goto("/admin/jobs/staffaction/")
    for number, words in enumerate(("job resumed", "provider resumed", "provider paused")):
        row = desk.locator("#result_list tbody tr").nth(number)
        expect(row).to_contain_text(re.compile(f"{words}.*staff.*{REASON}", re.DOTALL))


def test_two_staff_at_once_give_one_slot_back_once(page, staff, troubles):
    order(page, fault="drop_after")
    expect_state(page, "Confirming")
    first, second = staff(), staff(script=False)
    for desk in (first, second):
        open_call(desk, job_of(page))
        desk.get_by_role("link", name="Give the slot back").click()
    confirm(first, "Give the slot back")
    expect_told(first, "The slot was given back.")
    confirm(second, "Give the slot back")
    expect(second.locator(".errornote")).to_have_text("This slot has already been given back.")
    expect_quota(page, "3 of 3 slots left today")
    assert all("409" in trouble for trouble in troubles)
    troubles.clear()


def test_what_the_state_forbids_has_no_form(page, staff):
    order(page)
    expect_state(page, "Ready")
    desk = staff()
    open_call(desk, job_of(page))
    for what in ("Give the slot back", "Attach a provider id"):
        expect(desk.get_by_role("link", name=what)).not_to_be_attached()
    desk.goto(desk.url.replace("/change/", "/give-back/"))
    expect(desk.locator(".errornote")).to_have_text("The outcome of this call is known: succeeded.")
    expect(desk.get_by_label("Reason:")).not_to_be_attached()
    desk.get_by_role("main").get_by_role("link", name="Back").click()
    desk.wait_for_url("**/change/")
    expect_quota(page, "2 of 3 slots left today")
