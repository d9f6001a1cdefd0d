"""Takes a picture of every page in every state, light and dark, wide and narrow, into screens/, and
prints some of them there.

`python -m tests.screens NAME...` takes those alone; the name `readme` takes the README's picture.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import django
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.e2e.browser import find_chromium, open_chromium
from tests.e2e.scenes import SCENES, Scene
from tests.e2e.show_room import ShowRoom, Sight
from tests.site_process import ROOT

FOLDER = ROOT / "screens"
README_PICTURE = ROOT / "docs/images/job.png"
WIDTHS = (1180, 320)
THEMES = ("light", "dark")
PRINTED = ("job-ready", "job-lost", "job-endless", "picture", "gallery")


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
    views = {name: view for name, view in all_views(room).items() if not wanted or name in wanted}
    for (name, view), theme, width in product(views.items(), THEMES, WIDTHS):
        page = view(browser, room, color_scheme=theme, width=width)
        page.screenshot(path=FOLDER / f"{name}-{theme}-{width}.png", full_page=True)
        page.context.close()
    for name in filter(views.__contains__, PRINTED):
        page = views[name](browser, room, color_scheme="dark", width=1180)
        page.pdf(path=FOLDER / f"{name}.pdf", format="A4")
        page.context.close()


def all_views(room: ShowRoom) -> dict[str, Callable[..., Page]]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests.e2e.wrongs import wrongs

    return (
        {name: partial(open_sight, sight=sight) for name, sight in room.sights.items()}
        | {name: partial(open_scene, scene=scene) for name, scene in SCENES.items()}
        | {name: partial(open_html, html=html) for name, html in wrongs(room).items()}
    )


def take_for_readme(browser: Browser, room: ShowRoom) -> None:
    page = open_sight(browser, room, sight=room.sights["job-ready"], width=1180, height=1080)
    page.locator("#steps summary").click()
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=README_PICTURE)
    Image.open(README_PICTURE).convert("RGB").save(README_PICTURE, optimize=True)


def open_sight(browser: Browser, room: ShowRoom, *, sight: Sight, **look) -> Page:
    page = open_page(browser, room, sight.person, **look)
    page.goto(sight.path, wait_until="load")
    page.eval_on_selector_all("img", "found => found.forEach(img => img.loading = 'eager')")
    page.evaluate("Promise.all([...document.images].map(img => img.decode()))")
    return page


def open_scene(browser: Browser, room: ShowRoom, *, scene: Scene, **look) -> Page:
    page = open_sight(browser, room, sight=room.sights[scene.sight], **look)
    scene.play(page)
    return page


def open_html(browser: Browser, room: ShowRoom, *, html: str, **look) -> Page:
    page = open_page(browser, room, "nobody", **look)
    answer = {"body": html, "content_type": "text/html; charset=utf-8"}
    page.route("**/wrong", lambda route: route.fulfill(**answer))
    page.goto("/wrong", wait_until="load")
    return page


def open_page(
    browser: Browser, room: ShowRoom, person: str, *, width: int, height: int = 800, **look: str
) -> Page:
    size = {"width": width, "height": height}
    context = browser.new_context(base_url=room.url, viewport=size, **look)
    context.add_cookies(room.cookies(person))
    return context.new_page()


if __name__ == "__main__":
    main()
