"""Readers of prices, caps and allowances."""

import re
from collections.abc import Iterable
from decimal import Decimal

from django.core.exceptions import ImproperlyConfigured

from config.env.definitions import Help, define
from config.env.values import read_str, read_words, shown

LEAST_AMOUNT = Decimal("0.00000001")
MOST_PRICE = Decimal(10_000)
MOST_MONEY = Decimal(100_000_000)
# As many decimal places as the ledger keeps.
AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,8})?")
FREE = Decimal(0), ""
CURRENCY = re.compile(r"[A-Z]{3}")
BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12}


def read_prices(name: str, default: str, help: str | Help = "") -> dict[str, tuple[Decimal, str]]:
    """`provider:model=5.00 RUB, ...` as {"provider:model": (amount, currency)}; a price of `free`
    or 0 is an amount of zero, with no currency unless one is named."""
    define(name, "list of `provider:model=5.00 RUB`", default, help)
    prices = {}
    for entry in read_words(name, default):
        model, equals, price = entry.rpartition("=")
        if not equals or ":" not in model:
            raise ImproperlyConfigured(
                f"{name}: {shown(entry)} must look like provider:model=5.00 RUB"
            )
        if model.strip() in prices:
            raise ImproperlyConfigured(f"{name} names {model.strip()} twice")
        prices[model.strip()] = _price(name, price.strip())
    return prices


def _price(name: str, said: str) -> tuple[Decimal, str]:
    if said.lower() == "free" or said == "0":
        return FREE
    return _money(name, said, least=Decimal(0), most=MOST_PRICE)


def read_allowances(
    name: str, help: str | Help = "", *, counted: Iterable[str], stored: Iterable[str]
) -> dict[str, tuple[int, str]]:
    """`mail=300/day, storage=5 GB` as {"mail": (300, "day"), "storage": (5_000_000_000, "bytes")}:
    of `counted` so many a day or a month, of `stored` so many bytes."""
    define(name, "list of allowances", "", help)
    shapes = dict.fromkeys(counted, _allowed_in_time) | dict.fromkeys(stored, _allowed_bytes)
    allowances: dict[str, tuple[int, str]] = {}
    for entry in read_words(name):
        what, _, said = (part.strip() for part in entry.partition("="))
        if what not in shapes or what in allowances:
            known = ", ".join(sorted(shapes))
            raise ImproperlyConfigured(
                f"{name}: {shown(entry)} must name one of {known}, once each"
            )
        allowances[what] = shapes[what](name, said)
    return allowances


def _allowed_in_time(name: str, said: str) -> tuple[int, str]:
    found = re.fullmatch(r"(\d{1,9})(?: (?:requests|mails))?/(day|month)", said, re.ASCII)
    if not found or not int(found[1]):
        raise ImproperlyConfigured(
            f"{name}: {shown(said)} is not a number such as 300/day or 9000/month"
        )
    return int(found[1]), found[2]


def _allowed_bytes(name: str, said: str) -> tuple[int, str]:
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ([MGT]B)", said, re.ASCII)
    most = int(Decimal(found[1]) * BYTES[found[2]]) if found else 0
    if not most:
        raise ImproperlyConfigured(f"{name}: {shown(said)} is not a size such as 500 MB or 5 GB")
    return most, "bytes"


def read_money(name: str, help: str | Help = "") -> tuple[Decimal, str] | None:
    """`500.00 RUB` as (amount, currency); None if it is not set."""
    define(name, "amount such as `500.00 RUB`", "", help)
    said = read_str(name)
    return _money(name, said, least=LEAST_AMOUNT, most=MOST_MONEY) if said else None


def _money(name: str, said: str, *, least: Decimal, most: Decimal) -> tuple[Decimal, str]:
    amount, _, currency = said.strip().partition(" ")
    if not AMOUNT.fullmatch(amount) or not CURRENCY.fullmatch(currency.strip()):
        raise ImproperlyConfigured(f"{name}: {shown(said)} is not an amount such as 5.00 RUB")
    value = Decimal(amount)
    if not least <= value <= most:
        raise ImproperlyConfigured(f"{name}: {shown(said)} must be from {least:f} to {most}")
    return value, currency.strip()
