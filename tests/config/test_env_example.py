"""`.env.example` is the operator's list: complete, and true to the settings."""

import os
import re
from datetime import timedelta

import pytest
from django.conf import settings

from config import env

TEXT = (settings.BASE_DIR / ".env.example").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^#([A-Z][A-Z_]+)=(.*)$", TEXT, re.MULTILINE))
NUMBERS = {
    name
    for name, value in EXAMPLES.items()
    if re.fullmatch(r"\d+(\.\d+)?", value) and name in dir(settings)
}
SETTINGS = (settings.BASE_DIR / "config" / "settings.py").read_text(encoding="utf-8")
READ = set(re.findall(r'env\.read_\w+\(\s*"([A-Z_]+)"', SETTINGS))


def test_every_setting_is_listed():
    assert READ - set(EXAMPLES) == set()


def test_nothing_else_is_listed():
    assert set(EXAMPLES) - READ == set()


def test_copied_as_it_is_it_changes_nothing(tmp_path, monkeypatch):
    for name in EXAMPLES:
        monkeypatch.delenv(name, raising=False)
    copy = tmp_path / ".env"
    copy.write_text(TEXT, encoding="utf-8")
    env.load_dotenv(copy)
    assert not [name for name in EXAMPLES if env.read_str(name)]


@pytest.mark.parametrize("name", sorted(NUMBERS - set(os.environ)))
def test_the_default_shown_is_the_default(name):
    value = getattr(settings, name)
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    assert float(EXAMPLES[name]) == seconds
