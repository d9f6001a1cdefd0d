"""Any value of a setting is taken, or refused in one line that names it."""

import os
import re
import stat
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.configured import ROOT, read_settings
from tests.site_process import Site

EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
LISTED = re.findall(r"^#([A-Z][A-Z_]+)=", EXAMPLE, re.MULTILINE)
NUMBERS = re.findall(r"^#([A-Z][A-Z_]+)=[0-9.]+$", EXAMPLE, re.MULTILINE)
OF_AN_ACCOUNT = ("API_KEY", "BASE_URL", "KEY_EXCLUSIVE", "LIST_LAG", "DAILY_CAP")
SECRETS = (
    "SECRET_KEY",
    "DATABASE_URL",
    "POLZA_API_KEY",
    "ALERT_URL",
    "EMAIL_PASSWORD",
    "REDIS_URL",
)
NAMES = [
    *LISTED,
    *(f"SECOND_{name}" for name in OF_AN_ACCOUNT),
    *(f"{name}_FILE" for name in (*SECRETS, "REDIS_URL")),
]
# Numbers, words, characters, addresses, files and amounts that somebody might set anywhere.
VALUES = (
    *("0", "-1", "1", "nan", "inf", "1e400", "99999999999999999999", "0x10", "1_0", "٣", "yes"),
    *("maybe", "a,b", ",,,", "a=b", "a:b=", "=", "*", "::", "[::", "%", ":", "polza", "polza:"),
    *("second=polza", "mail=polza", "x=y=z", "http://[", "http://h:99999", "http://h/a?b#c"),
    *("postgres://", "postgres://u:p@h:99999/d", "postgres://[::1/d", "postgres://хост/d"),
    *("sqlite://", "sqlite:///:memory:", "mysql://h/d", "redis://h/x", "redis://h?x=1", "5,00"),
    *("a@b", "~nobody-of-that-name/x", "/nonexistent/x", "/dev/zero", ".", "{}", "<x>", "\\"),
)
SPACED = (
    "",
    "polza:x y",
    "5 RUB",
    "5.00001 RUB",
    "1e2 RUB",
    "-5 RUB",
    "NaN RUB",
    "5 РУБ",
    "polza:x=5 RUB,polza:x=6 RUB",
    "1 GB",
    "mail=0/day",
    "storage=0 GB",
    "a@b.de, c",
    "Name <a@b.de>\nBcc: x@y.org",
    "a\tb",
    "a\u200bb",
    "\ufeffa",
    "\udcff",
    "9" * 5000,
    "a" * 5000,
)


@pytest.fixture
def values(tmp_path, monkeypatch):
    """All of them. A relative DATA_DIR is made below the test's own folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    (tmp_path / "no-text").write_bytes(b"\xff\xfe\0")
    os.mkfifo(tmp_path / "fifo")
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    return [*VALUES, *SPACED, *(str(tmp_path / name) for name in ("", "empty", "no-text", "fifo"))]


def refusal_of(name: str, value: str, folder: Path) -> str:
    """Empty where it is taken."""
    beside = {"MORE_PROVIDERS": "second=polza"} if name.startswith("SECOND_") else {}
    try:
        read_settings(folder, **beside, **{name: value})
    except ImproperlyConfigured as exc:
        return str(exc)
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_a_value_is_taken_or_refused_in_one_line(name, values, tmp_path):
    about = {name, name.removesuffix("_FILE")} | ({"DEFAULT_FROM_EMAIL"} & {*LISTED})
    # All numbers have one of two readers.
    for value in values[:14] if name in NUMBERS else values:
        refused = refusal_of(name, value, tmp_path)
        assert "\n" not in refused
        assert len(refused) < 500
        assert not refused or any(word in refused for word in about), (value[:40], refused)


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("migrate", "DATABASE_URL", "postgres://nobody@127.0.0.1:1/x"),
        ("migrate", "DATABASE_URL", "postgres://127.0.0.1:1/x?pool=1"),
        ("migrate", "DATABASE_URL", "sqlite:////nonexistent/folder/x.sqlite3"),
        ("up", "DATABASE_URL", "postgres://127.0.0.1:1/x?no_option=1"),
        ("up", "REDIS_URL", "redis://127.0.0.1:1/0?no_option=1"),
        ("check", "PROVIDER_CA_BUNDLE", str(ROOT / "README.md")),
        ("up", "IMAGE_MODELS", "polza:two words"),
        ("check", "DATA_DIR", "/proc/x"),
        ("up", "PORT", "65536"),
    ],
)
def test_no_command_ends_in_a_traceback(tmp_path, command, name, value):
    ended = Site(tmp_path, **{name: value}).run(command)
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 1
