"""Mail is printed until there is a server; one that is set by halves does not start."""

import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from tests.databases import ROOT, Database

TELL = (
    "from django.conf import settings as s;"
    "print(s.EMAIL_BACKEND.split('.')[-2], s.EMAIL_PORT, s.EMAIL_USE_TLS, s.EMAIL_USE_SSL,"
    " s.EMAIL_HOST_PASSWORD, s.DEFAULT_FROM_EMAIL)"
)
SERVER = {"EMAIL_HOST": "mail.example.org", "DEFAULT_FROM_EMAIL": "Site <site@example.org>"}


def settings_with(tmp_path, **given: str) -> subprocess.CompletedProcess[str]:
    environment = Database("sqlite", "").environment(tmp_path) | given
    return subprocess.run(
        [sys.executable, "-c", TELL],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_a_server_mail_is_printed(tmp_path):
    assert settings_with(tmp_path).stdout.startswith("console ")


def test_with_a_server_mail_goes_there(tmp_path):
    (tmp_path / "password").write_text("sesame\n")
    told = settings_with(tmp_path, **SERVER, EMAIL_PASSWORD_FILE=str(tmp_path / "password"))
    assert told.stdout == "smtp 587 True False sesame Site <site@example.org>\n"


def test_tls_from_the_first_byte(tmp_path):
    told = settings_with(tmp_path, **SERVER, EMAIL_TLS="tls", EMAIL_PORT="465")
    assert told.stdout.startswith("smtp 465 False True")


@pytest.mark.parametrize(
    ("name", "value"),
    [("DEFAULT_FROM_EMAIL", ""), ("EMAIL_PORT", "smtp"), ("EMAIL_TLS", "yes")],
)
def test_half_a_server_is_named(tmp_path, name, value):
    told = settings_with(tmp_path, **SERVER | {name: value})
    assert told.returncode
    assert f"ImproperlyConfigured: {name} must be" in told.stderr


@pytest.mark.parametrize("value", ["site", "Site <site>", "a@example.org, b@example.org\r\nBcc: c"])
def test_a_sender_that_is_no_address_is_named(monkeypatch, value):
    monkeypatch.setenv("DEFAULT_FROM_EMAIL", value)
    with pytest.raises(ImproperlyConfigured, match="DEFAULT_FROM_EMAIL"):
        env.read_sender("DEFAULT_FROM_EMAIL", "site@example.org")
