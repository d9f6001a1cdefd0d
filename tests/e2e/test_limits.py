"""Too many tries: the form stands as typed, says when to try again, and does not by itself."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import fill_form
from tests.site_process import wait_until

pytestmark = [pytest.mark.chromium, pytest.mark.site]

TYPED = "A harbour that was ordered too soon"
FIELD = "What should be in the picture?"
SAYS = "Too many requests. Try again in"
# Forms that order nothing still count.
KNOCK = """async ([path, many]) => {
  const told = [];
  for (let i = 0; i < many; i++) {
    const csrf = document.querySelector("[name=csrfmiddlewaretoken]").value;
    const body = new URLSearchParams({ csrfmiddlewaretoken: csrf });
    told.push((await fetch(path, { method: "POST", body })).status);
  }
  return told;
}"""


def knock(page: Page, path: str, many: int) -> None:
    assert 429 not in page.evaluate(KNOCK, [path, many])


def is_wide(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("java_script", [True, False], ids=["script", "no script"])
@pytest.mark.parametrize("width", [1180, 320])
def test_an_order_too_many_keeps_the_form(someone, troubles, width, java_script):
    browser = someone(viewport={"width": width, "height": 700})
    page = browser.new_page()
    fill_form(page, TYPED)
    knock(page, "/images/new", 20)
    if not java_script:
        browser.route("**/*.js", lambda route: route.abort())
        fill_form(page, TYPED)
    posted = []
    page.on("request", lambda request: posted.append(request) if request.method == "POST" else None)
    page.get_by_role("button", name="Generate").click()
    expect(page.locator("#error-summary")).to_contain_text(SAYS)
    expect(page.get_by_label(FIELD)).to_have_value(TYPED)
    expect(page.locator("#quota")).to_have_text("3 of 3 slots left today")
    assert len(posted) == 1
    assert not is_wide(page)
    troubles.clear()


def test_signing_in_too_often_keeps_the_name_alone(someone, troubles):
    page = someone(viewport={"width": 320, "height": 700}).new_page()
    page.goto("/images/new")
    page.goto("/sign-in")
    knock(page, "/sign-in", 10)
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Password").fill("a password")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#error-summary")).to_contain_text(SAYS)
    expect(page.get_by_label("Name")).to_have_value("ana")
    expect(page.get_by_label("Password")).to_have_value("")
    assert not is_wide(page)
    troubles.clear()


def test_a_page_too_many_offers_itself_again(someone, troubles):
    page = someone(viewport={"width": 320, "height": 700}).new_page()
    page.goto("/images/new")
    page.evaluate("async () => { for (let i = 0; i < 110; i++) await fetch('/sign-in') }")
    page.goto("/gallery")
    expect(page.get_by_role("heading", name="Too many requests")).to_be_visible()
    expect(page.get_by_text(SAYS)).to_be_visible()
    expect(page.get_by_role("link", name="Try again")).to_have_attribute("href", "/gallery")
    assert not is_wide(page)
    troubles.clear()


def test_a_click_too_many_is_said_where_messages_are(someone, troubles):
    """htmx leaves the page as it is, and says why nothing was done."""
    page = someone().new_page()
    fill_form(page, TYPED)
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/jobs/*")
    before = page.locator("h1").inner_text()
    page.evaluate("async () => { for (let i = 0; i < 110; i++) await fetch('/sign-in') }")
    page.evaluate(
        "htmx.ajax('POST', '/theme', { target: 'main', values: { theme: 'dark' },"
        " headers: JSON.parse(document.body.getAttribute('hx-headers')) })"
    )
    expect(page.locator(".messages")).to_contain_text(SAYS)
    expect(page.locator("h1")).to_have_text(before)
    troubles.clear()


@pytest.fixture
def refused(someone):
    """refused(headers) is the page of a job that may not ask, and what it asked all the same."""

    def come(headers: dict[str, str]) -> tuple[Page, list[str]]:
        page, asked = someone().new_page(), []

        def refuse(route) -> None:
            asked.append(route.request.url)
            route.fulfill(status=429, headers=headers, body=SAYS)

        page.route("**/stream", lambda route: route.abort())
        page.route("**/jobs/*?seen=*", refuse)
        page.clock.install()
        fill_form(page, TYPED)
        page.get_by_role("button", name="Generate").click()
        page.wait_for_url("**/jobs/*")
        wait_until(lambda: page.clock.run_for(500) or asked)
        return page, asked

    return come


def wait_for_refusals(page: Page, troubles: list[str], many: int) -> None:
    """The browser's own word comes later than the answer."""
    wait_until(lambda: page.clock.run_for(1) or sum("429" in said for said in troubles) >= many)


def test_a_live_page_asks_again_when_it_was_told_to(refused, troubles):
    page, asked = refused({"Retry-After": "60"})
    # The clock runs by itself too, so this leaves twenty real seconds.
    page.clock.run_for(40_000)
    assert len(asked) == 1
    wait_until(lambda: page.clock.run_for(500) or len(asked) == 2)
    wait_for_refusals(page, troubles, 2)
    troubles.clear()


@pytest.mark.parametrize("said", [{}, {"Retry-After": "Sat, 14 Mar 2026 12:00:00 GMT"}])
def test_a_live_page_that_was_not_told_when_does_not_ask_at_once(refused, troubles, said):
    """A proxy before the site refuses by rules of its own, and need not say more."""
    page, asked = refused(said)
    wait_for_refusals(page, troubles, 1)
    page.clock.run_for(2000)
    assert len(asked) == 1
    wait_until(lambda: page.clock.run_for(500) or len(asked) == 2)
    wait_for_refusals(page, troubles, 2)
    troubles.clear()
