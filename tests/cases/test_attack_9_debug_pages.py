"""The error pages of DEBUG=yes show no key, no address with a password and no prompt."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import IntegrityError
from django.test import RequestFactory
from django.views.debug import technical_500_response

from config import settings as product
from providers.adapters.accounts import ProviderAccount
from tests.site_process import ROOT, Site

MARK = "hunter2"
SECRETS = {
    "SECRET_KEY": f"{MARK}-0123456789-abcdefghij-klmnopq",
    "POLZA_API_KEY": MARK,
    "SECOND_API_KEY": MARK,
    "MORE_PROVIDERS": "second=polza",
    "IMAGE_MODELS": "sandbox:test-picture",
    "POLZA_BASE_URL": f"https://gateway.example.org/{MARK}",
    "SANDBOX_URL": f"http://127.0.0.1:9/{MARK}",
    "DATABASE_URL": f"postgres://{MARK}:{MARK}@127.0.0.1:1/{MARK}?application_name={MARK}",
    "REDIS_URL": f"redis://{MARK}:{MARK}@127.0.0.1:1/0",
    "RATE_LIMITS": "OFF",
    "ALERT_URL": f"https://{MARK}:{MARK}@rooms.example.org/{MARK}?sig={MARK}",
    "ALERT_EMAILS": f"{MARK}@example.org",
    "EMAIL_HOST": f"{MARK}.example.org",
    "EMAIL_USER": MARK,
    "EMAIL_PASSWORD": MARK,
    "DEFAULT_FROM_EMAIL": f"{MARK}@example.org",
    "RESULT_ORIGINS": f"http://{MARK}.example.org",
}
ASK = """
import os, sys
import django; django.setup()
from django.test import Client
os.environ["ANOTHER"] = "hunter2"
headers = {"HTTP_REFERER": "http://x/hunter2", "HTTP_AUTHORIZATION": "Bearer hunter2"}
client = Client(raise_request_exception=False, HTTP_HOST="evil.example", **headers)
client.cookies["visitor"] = "hunter2"
answer = client.post("/new?sig=hunter2", {"prompt": "hunter2"}, **os.environ)
print(answer.status_code, answer.text)
"""


def test_no_setting_shows_a_secret(tmp_path):
    site = Site(tmp_path, **SECRETS | {"DEBUG": "yes"})
    page = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env=site.env | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert page.startswith("400 ")
    assert "IMAGE_MODELS" in page
    assert "DisallowedHost" in page
    assert MARK not in page


def page_of(error: Exception, **form: str) -> str:
    prompt = list(form.values())
    request = RequestFactory().post("/new?prompt=" + MARK, form)
    request.POST.keys()
    try:
        raise error
    except Exception:
        assert prompt
        return technical_500_response(request, *sys.exc_info()).text


@pytest.mark.parametrize(
    "error",
    [
        IntegrityError(f"DETAIL: Failing row contains (1, {MARK})."),
        ValueError(f"invalid literal: {MARK}"),
        UnicodeEncodeError("ascii", f"é{MARK}", 0, 1, "no"),
        KeyError(MARK),
    ],
)
def test_what_a_person_wrote_is_not_shown(error):
    error.add_note(MARK)
    error.__cause__ = RuntimeError(MARK)
    page = page_of(error, prompt=MARK)
    assert type(error).__name__ in page
    assert "RuntimeError" in page
    assert MARK not in page


def test_code_and_types_are_shown():
    page = page_of(TypeError("f() takes no arguments"), prompt="a fox")
    assert "f() takes no arguments" in page
    assert "&lt;list&gt;" in page
    assert "raise error" in page


def test_an_account_is_written_without_its_key():
    account = ProviderAccount(name="polza", adapter="polza", base_url="https://x", key=MARK)
    assert MARK not in f"{account} {account!r} {[account]}"


def test_every_setting_of_text_was_tried():
    """A new secret must be named above."""
    read = (Path(product.__file__)).read_text(encoding="utf-8")
    secrets = [word.split('"')[1] for word in read.split("env.read_secret")[1:]]
    assert set(secrets) | {"REDIS_URL"} <= set(SECRETS), os.linesep.join(secrets)
