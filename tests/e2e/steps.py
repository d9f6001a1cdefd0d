"""What a person does on the pages, by clicks and keys."""

from io import BytesIO

from PIL import Image
from playwright.sync_api import Page, expect

from providers.sandbox.drawing import draw_picture
from providers.sandbox.run_code import read_run

PROMPT = "A lighthouse above a quiet bay"


def fill_form(page: Page, prompt: str = PROMPT, fault: str = "") -> None:
    page.goto("/images/new")
    page.get_by_label("What should be in the picture?").fill(prompt)
    if fault:
        page.get_by_label("Simulate a problem (test provider)").select_option(fault)


def order(page: Page, prompt: str = PROMPT, fault: str = "") -> None:
    """Ends on the page of the job."""
    fill_form(page, prompt, fault)
    page.get_by_role("button", name="Generate").click()
    page.wait_for_url("**/jobs/*")


def order_slowly(page: Page) -> None:
    """A picture that takes long enough to press a button first."""
    order(page, fault="slow_16")


def is_drawing_of(prompt: str, content: bytes) -> bool:
    """The test provider's own file, whichever of its runs made it."""
    run = read_run(Image.open(BytesIO(content)))
    return run is not None and content == draw_picture(prompt, "1:1", run=run)


def asked_by(page: Page) -> list[str]:
    """The addresses of what the page asks for from now on. Icons are fetched when the browser
    likes, so nothing static counts."""
    asked: list[str] = []
    page.on("request", lambda request: "/static/" in request.url or asked.append(request.url))
    return asked


def expect_state(page: Page, word: str) -> None:
    expect(page.locator("h1 + .chip")).to_have_text(word)


def expect_quota(page: Page, text: str) -> None:
    expect(page.locator("#quota")).to_have_text(text)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the control of that name has the focus; after sixty it has none."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if name in page.evaluate(
            "(e => [e.innerText, e.labels?.[0]?.innerText].join(' '))(document.activeElement)"
        ):
            return
    raise AssertionError(f"no way to {name!r} by the Tab key")
