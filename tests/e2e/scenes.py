"""States of a page that only a script reaches, each from a sight of the show room.

page.goto(room.sights[scene.sight].path)
scene.play(page)
"""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, expect

LOST = "Connection lost, trying again."
PAUSED = "Live updates are paused. Reload the page to see changes."


@dataclass(frozen=True)
class Scene:
    sight: str
    play: Callable[[Page], None]


def ask_to_stop(page: Page) -> None:
    page.get_by_role("link", name="Stop waiting").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def ask_to_delete(page: Page) -> None:
    page.get_by_role("link", name="Delete").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def pause(page: Page) -> None:
    page.get_by_role("button", name="Pause live updates").click()
    expect(page.get_by_role("status").filter(has_text=PAUSED)).to_be_visible()


def lose_connection(page: Page) -> None:
    page.context.set_offline(True)
    # A short interruption is not reported.
    lost = page.get_by_role("status").filter(has_text=LOST)
    expect(lost).to_be_visible(timeout=60_000)


def send_nothing(page: Page) -> None:
    page.get_by_role("button", name="Generate").click()
    expect(page.locator("#error-summary")).to_be_focused()


def hear_of_refusals(page: Page) -> None:
    """What was done in another tab meanwhile, said in each tone."""
    for path in ("cancel", "stop-waiting"):
        token = page.locator("#theme [name=csrfmiddlewaretoken]").input_value()
        form = {"csrfmiddlewaretoken": token}
        page.request.post(f"{page.url}/{path}", form=form, max_redirects=0)
    page.reload()
    expect(page.locator(".messages .notice")).to_have_count(2)


SCENES = {
    "ask-to-stop": Scene("job-generating", ask_to_stop),
    "ask-to-delete": Scene("job-ready", ask_to_delete),
    "ask-to-delete-picture": Scene("picture", ask_to_delete),
    "paused": Scene("job-lost", pause),
    "connection-lost": Scene("job-sending", lose_connection),
    "form-refused": Scene("new", send_nothing),
    "told": Scene("job-failed", hear_of_refusals),
}
