"""The README is short, and its table of settings agrees with the definitions."""

import re

import pytest

from config.env.definitions import DEFINITIONS
from tests.docs.documents import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([A-Z][A-Z_]+)` \| (.+?) \|", README, re.MULTILINE))
MOST_LINES = {"README.md": 120, "CONTRIBUTING.md": 80}
WORD = re.compile(r"`([A-Z][A-Z]+(?:_[A-Z]+)+)`")


def test_table_has_about_a_dozen_settings():
    assert 10 <= len(ROWS) <= 14


@pytest.mark.parametrize("name", ROWS)
def test_default_is_that_of_the_definition(name):
    default = ROWS[name].strip("`")
    assert ("" if default == "none" else default) == DEFINITIONS[name].default


def test_every_setting_that_is_named_exists():
    assert set(WORD.findall(README)) <= DEFINITIONS.keys()


def test_every_target_of_make_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z]+)\b", README))
    assert {"run", "test"} <= named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


@pytest.mark.parametrize(("name", "most"), MOST_LINES.items())
def test_document_is_short(name, most):
    assert (ROOT / name).read_text(encoding="utf-8").count("\n") <= most
