"""docs/configuration.md and .env.example are written from the definitions of settings."""

import ast
import re

import pytest

from config import reference
from config.env.definitions import DEFINITIONS
from tests.configured import ROOT, read_settings

EXAMPLES = {each.name: each.example for each in DEFINITIONS.values() if each.example}
# Their value is of the installation: a folder of the test, a key made there.
OF_THE_FOLDER = {"DATA_DIR", "PUBLIC_URL"}


def read_names() -> set[str]:
    """Names that config/configuration.py reads from the environment."""
    tree = ast.parse((ROOT / "config" / "configuration.py").read_text(encoding="utf-8"))
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.args
        and ast.unparse(node.func).startswith("env.read_")
    }


@pytest.mark.parametrize("name", ["docs/configuration.md", ".env.example"])
def test_document_is_what_the_definitions_say(name):
    written = (ROOT / name).read_text(encoding="utf-8")
    assert written == reference.render_all()[name], "run `make docs`"


def test_every_setting_is_defined_with_its_meaning():
    assert len(read_names()) > 40
    assert read_names() <= DEFINITIONS.keys()
    assert all(each.text.endswith(".") and each.group for each in DEFINITIONS.values())


def test_only_the_configuration_reads_the_environment():
    settings = (ROOT / "config" / "settings.py").read_text(encoding="utf-8")
    constants = (ROOT / "config" / "constants.py").read_text(encoding="utf-8")
    assert not re.search(r"env\.read_|os\.environ|getenv", settings + constants)


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - OF_THE_FOLDER))
def test_a_line_of_the_example_is_the_default(tmp_path, name):
    untouched = read_settings(tmp_path)
    uncommented = read_settings(tmp_path, **{name: EXAMPLES[name]})
    differ = {key for key in untouched if key.isupper() and untouched[key] != uncommented[key]}
    assert differ <= {"PROXIES_ARE_SAID"}


def test_a_line_of_the_example_with_another_value_is_read(tmp_path):
    assert read_settings(tmp_path, WORKERS="7")["WORKERS"] == 7


def test_secrets_are_named_with_their_files():
    secrets = {each.name for each in DEFINITIONS.values() if each.is_secret}
    assert secrets == {
        "SECRET_KEY",
        "DATABASE_URL",
        "REDIS_URL",
        "EMAIL_PASSWORD",
        "ALERT_URL",
        "POLZA_API_KEY",
    }
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text.partition("##")[0] for name in secrets)
