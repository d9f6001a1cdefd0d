"""Takes a picture of every page in every state, light and dark, wide and narrow, into screens/."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from tests.e2e.browser import find_chromium, open_chromium
from tests.e2e.show_room import ShowRoom
from tests.site_process import ROOT

FOLDER = ROOT / "screens"
WIDTHS = (1180, 320)
THEMES = ("light", "dark")


def main() -> None:
    """The names after the command choose what to take; without any it is everything."""
    executable = find_chromium()
    if not executable:
        sys.exit("screens: no Chromium found; install one or name it in CHROMIUM")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        room = ShowRoom(Path(folder)).open()
        try:
            with open_chromium(executable) as browser:
                for theme in THEMES:
                    for width in WIDTHS:
                        take(browser, room, theme, width, sys.argv[1:])
        finally:
            room.close()
    print(f"The pictures are in {FOLDER}")


def take(browser: Browser, room: ShowRoom, theme: str, width: int, wanted: list[str]) -> None:
    for name, sight in room.sights.items():
        if wanted and name not in wanted:
            continue
        context = browser.new_context(
            color_scheme=theme, viewport={"width": width, "height": 800}, base_url=room.url
        )
        context.add_cookies(room.cookies(sight.person))
        page = context.new_page()
        page.goto(sight.path, wait_until="load")
        page.eval_on_selector_all("img", "found => found.forEach(img => img.loading = 'eager')")
        page.wait_for_function("[...document.images].every(img => img.complete)")
        page.screenshot(path=FOLDER / f"{name}-{theme}-{width}.png", full_page=True)
        context.close()


if __name__ == "__main__":
    main()
