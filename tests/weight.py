"""What a page weighs without its pictures: HTML, styles and scripts, each compressed by gzip.

`make weight` prints it, the heaviest page first; the bounds are held by tests/e2e/test_weight.py.
"""

import gzip
import tempfile
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import requests

from tests.e2e.show_room import ShowRoom
from tests.site_process import ROOT

MOST_OF_A_PAGE = 60 * 1024
MOST_OF_OWN_SCRIPTS = 8 * 1024


@dataclass(frozen=True)
class Weight:
    """Bytes, compressed."""

    html: int
    styles: int
    scripts: int

    @property
    def total(self) -> int:
        return self.html + self.styles + self.scripts


class Parts(HTMLParser):
    """The addresses of the styles and scripts that a page loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.styles: set[str] = set()
        self.scripts: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and given.get("rel") == "stylesheet":
            self.styles.add(given["href"])
        elif tag == "script" and "src" in given:
            self.scripts.add(given["src"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        room = ShowRoom(Path(folder))
        try:
            weights = weigh(room.open())
        finally:
            room.close()
    print(table(weights))


def weigh(room: ShowRoom) -> dict[str, Weight]:
    """By page, the heaviest first."""
    sizes = cache(lambda path: size_of(requests.get(urljoin(room.url, path), timeout=10).content))
    weights = {}
    for name, sight in room.sights.items():
        html = room.html(sight)
        parts = Parts(html)
        styles, scripts = sum(map(sizes, parts.styles)), sum(map(sizes, parts.scripts))
        weights[name] = Weight(size_of(html.encode()), styles, scripts)
    return dict(sorted(weights.items(), key=lambda item: -item[1].total))


def size_of(content: bytes) -> int:
    return len(gzip.compress(content, compresslevel=6))


def own_scripts() -> int:
    """Bytes as written, of all pages for people together, or of all for staff: nobody loads both.
    A script that no page names is counted with each."""
    named_for_staff, named_for_people = (
        " ".join(page.read_text() for page in pages) for pages in _pages_by_reader()
    )
    sizes = {file.name: file.stat().st_size for file in (ROOT / "static").rglob("*.js")}
    people = sum(size for name, size in sizes.items() if name not in named_for_staff)
    staff = sum(size for name, size in sizes.items() if name not in named_for_people)
    return max(people, staff)


def _pages_by_reader() -> tuple[list[Path], list[Path]]:
    pages = list((ROOT / "templates").rglob("*.html"))
    staff = [page for page in pages if "admin" in page.relative_to(ROOT).parts]
    return staff, [page for page in pages if page not in staff]


def table(weights: dict[str, Weight]) -> str:
    lines = [f"{'KB, compressed':22}{'HTML':>8}{'styles':>8}{'scripts':>8}{'total':>8}"]
    for name, weight in weights.items():
        numbers = (weight.html, weight.styles, weight.scripts, weight.total)
        lines.append(f"{name:22}" + "".join(f"{number / 1024:8.1f}" for number in numbers))
    heaviest = next(iter(weights.values())).total / 1024
    lines.append(f"The heaviest page: {heaviest:.1f} of at most {MOST_OF_A_PAGE // 1024} KB")
    own = own_scripts() / 1024
    lines.append(f"Own scripts: {own:.1f} of at most {MOST_OF_OWN_SCRIPTS // 1024} KB as written")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
