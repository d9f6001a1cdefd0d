"""Provider accounts: how further ones are read, and what is refused before the site starts."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.checks import setup
from config.env import accounts

PRICE = {"sandbox:test-picture": (Decimal("5.00"), "RUB")}


@pytest.fixture
def capped(settings):
    """capped("20.00 RUB") gives the sandbox, which is the one on offer, a cap."""
    settings.IMAGE_MODELS = ["sandbox:test-picture"]
    settings.IMAGE_PRICES = PRICE

    def cap(amount: str, currency: str = "RUB") -> list[str]:
        sandbox = settings.PROVIDER_ACCOUNTS["sandbox"]
        capped = replace(sandbox, daily_cap=(Decimal(amount), currency))
        settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"sandbox": capped}
        return [message.id for message in setup.check_caps()]

    return cap


def more(settings, *entries: str):
    return accounts.read_more(list(entries), settings.PROVIDER_ACCOUNTS)


def test_two_accounts_of_one_adapter_are_two_providers(settings, monkeypatch):
    monkeypatch.setenv("POLZA_B_API_KEY", "b-key")
    monkeypatch.setenv("POLZA_B_KEY_EXCLUSIVE", "yes")
    monkeypatch.setenv("POLZA_B_LIST_LAG", "90")
    monkeypatch.setenv("POLZA_B_DAILY_CAP", "500.00 RUB")
    second = more(settings, "polza-b=polza")["polza-b"]
    assert (second.adapter, second.key, second.key_exclusive) == ("polza", "b-key", True)
    assert second.list_lag == timedelta(seconds=90)
    assert second.daily_cap == (Decimal("500.00"), "RUB")
    assert second.base_url == settings.PROVIDER_ACCOUNTS["polza"].base_url


def test_a_key_is_not_shared_by_accident(settings):
    assert more(settings, "polza-b=polza")["polza-b"].key == ""


def test_each_sandbox_account_has_a_key_of_its_own(settings):
    assert more(settings, "sandbox-b=sandbox")["sandbox-b"].key == "sandbox-b"


def test_a_name_is_given_once(settings):
    with pytest.raises(ImproperlyConfigured, match="MORE_PROVIDERS"):
        more(settings, "polza-b=polza", "polza-b=sandbox")


@pytest.mark.parametrize("entry", ["polza-b", "polza-b=fal", "polza=polza", "Polza B=polza", "=x"])
def test_what_is_no_account_is_refused_by_name(settings, entry):
    with pytest.raises(ImproperlyConfigured, match="MORE_PROVIDERS"):
        more(settings, entry)


@pytest.mark.parametrize(
    "said", ["500", "500 rub", "RUB 500", "0 RUB", "-5 RUB", "nan RUB", "1 R2D"]
)
def test_an_amount_needs_a_number_above_zero_and_a_currency(monkeypatch, said):
    monkeypatch.setenv("POLZA_DAILY_CAP", said)
    with pytest.raises(ImproperlyConfigured, match="POLZA_DAILY_CAP"):
        env.read_money("POLZA_DAILY_CAP")


def test_a_cap_with_a_price_is_accepted(capped):
    assert capped("20.00") == []


def test_a_cap_without_a_price_is_refused(capped, settings):
    settings.IMAGE_PRICES = {}
    assert capped("20.00") == ["counterfoil.E010"]


def test_a_cap_in_another_currency_than_the_price_is_refused(capped):
    assert capped("20.00", "USD") == ["counterfoil.E010"]


def test_a_cap_below_one_price_is_refused(capped):
    assert capped("4.99") == ["counterfoil.E011"]


@pytest.mark.parametrize(("currency", "found"), [("RUB", []), ("USD", ["counterfoil.E012"])])
def test_a_price_is_in_the_currency_that_the_provider_bills_in(settings, currency, found):
    settings.IMAGE_PRICES = {"polza:any/model": (Decimal("5.00"), currency)}
    assert [message.id for message in setup.check_currencies()] == found


def test_a_price_of_an_unknown_provider_is_no_matter(settings):
    settings.IMAGE_PRICES = {"nobody:model": (Decimal("5.00"), "USD")}
    assert setup.check_currencies() == []


def test_a_fallback_is_checked_as_an_offer_is(settings):
    settings.IMAGE_MODELS = ["sandbox:test-picture"]
    settings.IMAGE_FALLBACK = ["nobody:model", "polza:some/model"]
    assert [message.id for message in setup.check_providers()] == [
        "counterfoil.E004",
        "counterfoil.E005",
    ]
