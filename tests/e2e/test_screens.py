"""`make screens` takes its pictures."""

from pathlib import Path

import pytest
from PIL import Image

from tests import screens

pytestmark = [pytest.mark.chromium, pytest.mark.site]


def width_of(file: Path) -> int:
    with Image.open(file) as image:
        return image.width


def test_page_is_taken_in_both_widths_and_both_themes(chromium, room, tmp_path, monkeypatch):
    monkeypatch.setattr(screens, "FOLDER", tmp_path)
    screens.take_all(chromium, room, ["gallery"])
    taken = {file.name: width_of(file) for file in tmp_path.glob("*.png")}
    assert taken == {
        f"gallery-{theme}-{width}.png": width
        for theme in ("light", "dark")
        for width in (1180, 320)
    }
    assert (tmp_path / "gallery.pdf").read_bytes().startswith(b"%PDF")
