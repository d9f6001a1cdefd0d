"""What a site shows to others, or may spend, is warned of at its start."""

from dataclasses import replace
from decimal import Decimal

import pytest

from config import env
from config.checks import exposure
from config.env import dotenv


def ids(found) -> list[str]:
    return [message.id for message in found]


@pytest.mark.parametrize(
    ("public_url", "host", "found"),
    [
        ("https://studio.example.org", "127.0.0.1", ["counterfoil.E019"]),
        ("http://192.0.2.1:8000", "127.0.0.1", ["counterfoil.E019"]),
        ("http://[2001:db8::5]", "::1", ["counterfoil.E019"]),
        ("https://xn--d1aizef8e.xn--p1ai", "0.0.0.0", ["counterfoil.E019"]),
        ("", "0.0.0.0", ["counterfoil.W003"]),
        ("http://localhost:8000", "::", ["counterfoil.W003"]),
        ("", "192.168.1.5", ["counterfoil.W003"]),
        ("http://127.0.0.1:8000", "localhost", []),
        ("http://[::1]:8000", "::1", []),
    ],
)
def test_debug_is_for_this_machine_alone(settings, public_url, host, found):
    settings.DEBUG, settings.PUBLIC_URL, settings.HOST = True, public_url, host
    assert ids(exposure.check_debug()) == found
    settings.DEBUG = False
    assert exposure.check_debug() == []


@pytest.mark.parametrize(
    "key", ["a" * 40, "ab" * 20, "changeme" * 5, "django-insecure-" + "x9" * 20]
)
def test_a_key_that_can_be_guessed_is_warned_of(settings, key):
    settings.SECRET_KEY = key
    assert ids(exposure.check_secret_key()) == ["counterfoil.W004"]


def test_a_random_key_is_not_warned_of(settings):
    settings.SECRET_KEY = "9f86d081884c7d659a2feaa0c55ad015"
    assert exposure.check_secret_key() == []


def offer(settings, *, adapter: str = "polza", cap=None) -> None:
    account = replace(
        settings.PROVIDER_ACCOUNTS["polza"], name="second", adapter=adapter, daily_cap=cap
    )
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"second": account}
    settings.IMAGE_MODELS = ["sandbox:test-picture"]
    settings.IMAGE_FALLBACK = ["second:a", "second:b"]
    settings.IMAGE_PRICES = {pair: (Decimal(5), "RUB") for pair in settings.IMAGE_FALLBACK}


def test_a_priced_model_without_a_cap_is_warned_of_once_an_account(settings):
    offer(settings)
    [found] = exposure.check_spending()
    assert found.id == "counterfoil.W006"
    assert "second:a costs 5 RUB" in found.msg
    assert "SECOND_DAILY_CAP" in found.msg


@pytest.mark.parametrize(
    "changes", [{"cap": (Decimal(500), "RUB")}, {"adapter": "sandbox"}], ids=["cap", "sandbox"]
)
def test_a_capped_account_and_the_sandbox_are_not_warned_of(settings, changes):
    offer(settings, **changes)
    assert exposure.check_spending() == []


@pytest.mark.parametrize(
    ("host", "public_url", "found"),
    [
        ("0.0.0.0", "", ["counterfoil.W007"]),
        ("::", "", ["counterfoil.W007"]),
        ("0.0.0.0", "https://studio.example.org", []),
        ("127.0.0.1", "", []),
        ("192.168.1.5", "", []),
    ],
)
def test_a_site_that_others_cannot_address_is_warned_of(settings, host, public_url, found):
    settings.HOST, settings.PUBLIC_URL = host, public_url
    assert ids(exposure.check_host()) == found


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("PUBLC_URL", "PUBLIC_URL"),
        ("POLZA_DAILYCAP", "POLZA_DAILY_CAP"),
        ("REDIS_URLS", "REDIS_URL"),
        ("redis_url", "REDIS_URL"),
        ("POSTGRES_PASSWORD", ""),
        ("COMPOSE_PROJECT_NAME", ""),
    ],
)
def test_a_mistyped_name_in_dotenv_is_warned_of(monkeypatch, tmp_path, name, asked):
    monkeypatch.setattr(dotenv, "LOADED", set())
    monkeypatch.setenv(name, "set before, so that it goes again")
    (tmp_path / ".env").write_text(f"{name}=x\nPUBLIC_URL=")
    env.load_dotenv(tmp_path / ".env")
    found = exposure.check_dotenv()
    assert [message.hint for message in found] == ([f"Is it {asked}?"] if asked else [])
