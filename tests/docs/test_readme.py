"""The table of settings is complete and true, in the README and in `.env.example`."""

import ast
import re

import pytest

from tests.docs.documents import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([A-Z][A-Z_]+)` \| (.+?) \|", README, re.MULTILINE))
EXAMPLES = dict(re.findall(r"^#([A-Z][A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE))
MOST_LINES = {"README.md": 150, "CONTRIBUTING.md": 80}


def settings_read() -> set[str]:
    """Names that `config/settings.py` reads from the environment."""
    tree = ast.parse((ROOT / "config" / "settings.py").read_text(encoding="utf-8"))
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.args
        and ast.unparse(node.func).startswith("env.read_")
    }


@pytest.mark.parametrize("table", [ROWS, EXAMPLES], ids=["README", ".env.example"])
def test_table_names_exactly_what_is_read(table):
    assert set(table) == settings_read()


@pytest.mark.parametrize("name", [name for name, default in ROWS.items() if default[0] == "`"])
def test_default_is_that_of_the_example(name):
    assert ROWS[name].strip("`") == EXAMPLES[name]


def test_a_default_that_is_none_is_empty_in_the_example():
    none = {name for name, default in ROWS.items() if default == "none"}
    assert {name for name in none if EXAMPLES[name]} <= {"PUBLIC_URL"}


@pytest.mark.parametrize(("name", "most"), MOST_LINES.items())
def test_document_is_short(name, most):
    assert (ROOT / name).read_text(encoding="utf-8").count("\n") <= most
