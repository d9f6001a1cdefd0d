"""Typed readers of environment variables. Each names the variable and what it wants when it fails.

`NAME_FILE` may stand in for any secret `NAME`: the value is then read from that file.
"""

import os
from decimal import Decimal, InvalidOperation
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}


def load_dotenv(path: Path) -> None:
    """Lines `NAME=value` of a `.env` file; what the environment already says wins."""
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise ImproperlyConfigured(f"{path.name} line {number} is not NAME=value")
        os.environ.setdefault(name.strip(), value.strip().strip("\"'"))


def read_str(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def read_secret(name: str) -> str:
    file = os.environ.get(f"{name}_FILE", "").strip()
    if not file:
        return read_str(name)
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as exc:
        raise ImproperlyConfigured(f"{name}_FILE: cannot read {file}: {exc.strerror}") from exc


def read_bool(name: str, default: bool) -> bool:
    word = os.environ.get(name)
    if word is None:
        return default
    if word.strip().lower() in TRUE_WORDS:
        return True
    if word.strip().lower() in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name} must be yes or no, not {word!r}")


def read_int(name: str, default: int, *, least: int = 0, most: int = 10**9) -> int:
    text = read_str(name, str(default))
    try:
        value = int(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}") from None
    if not least <= value <= most:
        raise ImproperlyConfigured(f"{name} must be from {least} to {most}, not {value}")
    return value


def read_seconds(name: str, default: float, *, least: float = 0.01, most: float = 1e8) -> float:
    text = read_str(name, str(default))
    try:
        value = float(text)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number of seconds, not {text!r}") from None
    if not least <= value <= most:
        raise ImproperlyConfigured(f"{name} must be from {least} to {most} seconds, not {text}")
    return value


def read_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = read_str(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def read_words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in read_str(name, default).split(",") if word.strip()]


def read_url(name: str, default: str = "", *, schemes: tuple[str, ...] = ("http", "https")) -> str:
    """An address without a trailing slash, or the empty string."""
    value = read_str(name, default).rstrip("/")
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} is not an address: {exc}") from None
    if parts.scheme not in schemes or not parts.hostname:
        shapes = " or ".join(f"{scheme}://..." for scheme in schemes)
        raise ImproperlyConfigured(f"{name} must be an address such as {shapes}, not {value!r}")
    return value


def read_prices(name: str, default: str) -> dict[str, tuple[Decimal, str]]:
    """`provider:model=5.00 RUB, ...` as {"provider:model": (amount, currency)}."""
    prices = {}
    for entry in read_words(name, default):
        model, equals, price = entry.rpartition("=")
        amount, _, currency = price.strip().partition(" ")
        try:
            value = Decimal(amount)
        except InvalidOperation:
            equals = ""
        currency = currency.strip()
        if not equals or ":" not in model or len(currency) != 3 or not currency.isupper():
            raise ImproperlyConfigured(f"{name}: {entry!r} is not provider:model=5.00 RUB")
        if not 0 < value <= 10_000:
            raise ImproperlyConfigured(
                f"{name}: a price must be above 0 and at most 10000: {entry}"
            )
        prices[model.strip()] = (value, currency)
    return prices
