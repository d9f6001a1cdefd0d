"""The W3C's Nu checker finds no error in any page in any state; htmx's attributes are known."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.checkers import need_nu
from tests.e2e.wrongs import wrongs

pytestmark = [pytest.mark.chromium, pytest.mark.site]

OF_HTMX = "Attribute “(hx|sse)-[a-z-]+” not allowed on element “[a-z]+” at this point."
OPTIONS = ["--format", "json", "--errors-only", "--stdout", "--exit-zero-always", "--filterpattern"]
PLANTED = '<!doctype html><html lang="en"><title>Planted</title><p hx-get="/" hx="/"><div></p>'


@pytest.fixture(scope="module")
def nu() -> list[str]:
    return need_nu()


def errors_in(nu: list[str], pages: dict[str, str], folder: Path) -> list[str]:
    """One run of the checker for all of them, since its start is what takes long."""
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    command = [*nu, *OPTIONS, OF_HTMX, str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [in_words(message) for message in json.loads(answer.stdout)["messages"]]


def in_words(message: dict) -> str:
    page = Path(message["url"]).stem
    return f"{page}: {message['message']} {message.get('extract', '')}"


def test_no_page_has_an_error(nu, room, tmp_path):
    pages = {name: room.html(sight) for name, sight in room.sights.items()}
    assert errors_in(nu, pages | wrongs(room), tmp_path) == []


def test_an_error_is_noticed_and_an_attribute_of_htmx_is_none(nu, tmp_path):
    errors = errors_in(nu, {"planted": PLANTED}, tmp_path)
    assert any("“hx” not allowed" in error for error in errors)
    assert any("No “p” element in scope" in error for error in errors)
    assert not any("hx-get" in error.partition("”")[0] for error in errors)
