"""Takes a picture of every page in every state, light and dark, wide and narrow, into screens/.

`python -m tests.screens NAME...` takes those alone; the name `readme` takes the README's picture.
"""

import sys
import tempfile
from itertools import product
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from tests.e2e.browser import find_chromium, open_chromium
from tests.e2e.show_room import ShowRoom, Sight
from tests.site_process import ROOT

FOLDER = ROOT / "screens"
README_PICTURE = ROOT / "docs/images/job.png"
WIDTHS = (1180, 320)
THEMES = ("light", "dark")


def main() -> None:
    executable = find_chromium()
    if not executable:
        sys.exit("screens: no Chromium found; install one or name it in CHROMIUM")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        room = ShowRoom(Path(folder)).open()
        try:
            with open_chromium(executable) as browser:
                take_all(browser, room, sys.argv[1:])
        finally:
            room.close()
    print(f"The pictures are in {FOLDER}")


def take_all(browser: Browser, room: ShowRoom, wanted: list[str]) -> None:
    if "readme" in wanted:
        take_for_readme(browser, room)
    for theme, width in product(THEMES, WIDTHS):
        for name, sight in room.sights.items():
            if not wanted or name in wanted:
                page = open_sight(browser, room, sight, color_scheme=theme, width=width)
                page.screenshot(path=FOLDER / f"{name}-{theme}-{width}.png", full_page=True)
                page.context.close()


def take_for_readme(browser: Browser, room: ShowRoom) -> None:
    page = open_sight(browser, room, room.sights["job-ready"], width=1180, height=1080)
    page.locator("#steps summary").click()
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=README_PICTURE)
    Image.open(README_PICTURE).convert("RGB").save(README_PICTURE, optimize=True)


def open_sight(
    browser: Browser, room: ShowRoom, sight: Sight, *, width: int, height: int = 800, **look: str
) -> Page:
    size = {"width": width, "height": height}
    context = browser.new_context(base_url=room.url, viewport=size, **look)
    context.add_cookies(room.cookies(sight.person))
    page = context.new_page()
    page.goto(sight.path, wait_until="load")
    page.eval_on_selector_all("img", "found => found.forEach(img => img.loading = 'eager')")
    page.wait_for_function("[...document.images].every(img => img.complete)")
    return page


if __name__ == "__main__":
    main()
