"""From a visitor to a user and back, in a browser: what comes along, and what is left behind."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import PROMPT, expect_quota, expect_state, fill_form, order

pytestmark = [pytest.mark.chromium, pytest.mark.site]

MAKE_USER = (
    "from django.contrib.auth.models import User; User.objects.create_user({!r}, None, {!r})"
)
PASSWORD = "a long word"


@pytest.fixture
def make_user(site):
    """As staff would; each test has a user of its own."""

    def make_user(name: str) -> str:
        code = MAKE_USER.format(name, PASSWORD)
        site.run("shell", "--no-imports", "-c", code).check_returncode()
        return name

    return make_user


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("java_script", [True, False], ids=["script", "no script"])
def test_picture_and_slot_come_along(someone, make_user, java_script):
    name = make_user("ana" if java_script else "ben")
    page = someone(java_script_enabled=java_script).new_page()
    order(page)
    expect_state(page, "Ready")
    page.get_by_role("link", name="Gallery").click()
    page.get_by_role("link", name="Sign in").click()
    sign_in(page, name)
    page.wait_for_url("**/gallery")
    expect(page.get_by_role("main").get_by_role("link", name=PROMPT)).to_be_visible()
    expect_quota(page, "9 of 10 slots left today")
    page.get_by_role("button", name="Sign out").click()
    expect_quota(page, "3 of 3 slots left today")
    page.goto("/gallery")
    expect(page.get_by_role("main").get_by_role("link", name=PROMPT)).not_to_be_attached()


def test_wrong_password_is_said_at_the_top(page, make_user, troubles):
    page.goto("/sign-in")
    sign_in(page, make_user("emma"), "wrong")
    summary = page.locator("#error-summary")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("Incorrect username or password.")
    expect(page).to_have_title("Error · Sign in · Counterfoil")
    summary.get_by_role("link").click()
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page.get_by_label("Name")).to_have_value("emma")
    troubles.clear()


def test_keyboard_is_enough(page, make_user):
    """The name has the focus at once."""
    name = make_user("fred")
    page.goto("/sign-in?next=/images/new")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/images/new?*")


@pytest.mark.parametrize("java_script", [True, False], ids=["script", "no script"])
def test_form_of_another_tab_keeps_its_text(someone, make_user, troubles, java_script):
    name = make_user("cora" if java_script else "dora")
    context = someone(java_script_enabled=java_script)
    form, other = context.new_page(), context.new_page()
    fill_form(form, "An unsent prompt")
    other.goto("/sign-in")
    sign_in(other, name)
    expect_quota(other, "10 of 10 slots left today")
    form.get_by_role("button", name="Generate").click()
    expect(form.locator("#error-summary")).to_contain_text("Send it again.")
    expect(form.get_by_label("What should be in the picture?")).to_have_value("An unsent prompt")
    form.get_by_role("button", name="Generate").click()
    form.wait_for_url("**/jobs/*")
    expect_state(form, "Ready")
    expect_quota(form, "9 of 10 slots left today")
    troubles.clear()
