"""Typed readers of environment variables. Each names the variable and what it wants when it fails.

`NAME_FILE` may stand in for any secret `NAME`: the value is then read from that file.
"""

import os
import re
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from email.utils import getaddresses
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LEAST_PRICE = Decimal("0.0001")
MOST_PRICE = Decimal(10_000)
MOST_MONEY = Decimal(100_000_000)
BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}


def load_dotenv(path: Path) -> None:
    """Lines `NAME=value` of a `.env` file; what the environment already says wins."""
    if not path.is_file():
        return
    for number, line in enumerate(_read_text(path.name, path).splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        if not equals or not NAME.fullmatch(name.strip()):
            raise ImproperlyConfigured(f"{path.name} line {number} is not NAME=value")
        os.environ.setdefault(name.strip(), value.strip().strip("\"'"))


def _read_text(name: str, path: Path) -> str:
    """`name` is what a person calls it. A mark of the byte order is no part of the text."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise ImproperlyConfigured(f"{name}: cannot read {path}: {exc.strerror}") from exc
    except UnicodeDecodeError:
        raise ImproperlyConfigured(f"{name}: {path} is no text in UTF-8") from None
    if "\0" in text:
        raise ImproperlyConfigured(f"{name}: {path} is no text")
    return text


def read_str(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def read_secret(name: str) -> str:
    file = os.environ.get(f"{name}_FILE", "").strip()
    return _read_text(f"{name}_FILE", Path(file)).strip() if file else read_str(name)


def read_file(name: str) -> str:
    """The path of a file that can be read, or the empty string."""
    file = read_str(name)
    try:
        if file:
            Path(file).open("rb").close()
    except OSError as exc:
        raise ImproperlyConfigured(f"{name}: cannot read {file}: {exc.strerror}") from exc
    return file


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


def read_lag(name: str) -> timedelta | None:
    """Seconds, or None when nothing is said: nobody knows."""
    return timedelta(seconds=read_seconds(name, 0)) if read_str(name) else None


def read_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    """One of a few words, which are upper case here and may be written in any."""
    value = read_str(name, default).upper()
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


def read_words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in read_str(name, default).split(",") if word.strip()]


def read_origins(name: str) -> list[str]:
    """`https://host:port, ...`: what an address may begin with, and no more than that."""
    origins = [_checked_url(name, word.rstrip("/"), ("http", "https")) for word in read_words(name)]
    for origin in origins:
        parts = urlsplit(origin)
        if origin != f"{parts.scheme}://{parts.netloc}" or "@" in origin:
            raise ImproperlyConfigured(f"{name} must be origins such as https://host:port")
    return origins


def read_url(name: str, default: str = "", *, schemes: tuple[str, ...] = ("http", "https")) -> str:
    """An address without a trailing slash, or the empty string."""
    value = read_str(name, default).rstrip("/")
    return _checked_url(name, value, schemes) if value else ""


def read_secret_url(name: str) -> str:
    """An address that may hold a secret: it is not repeated when it is wrong."""
    value = read_secret(name)
    try:
        return _checked_url(name, value, ("http", "https")) if value else ""
    except ImproperlyConfigured:
        raise ImproperlyConfigured(f"{name} must be an address such as https://...") from None


def _checked_url(name: str, value: str, schemes: tuple[str, ...]) -> str:
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} is not an address: {exc}") from None
    if parts.scheme not in schemes or not parts.hostname:
        shapes = " or ".join(f"{scheme}://..." for scheme in schemes)
        # What stands before an @ may be a password.
        shown = "" if "@" in value else f", not {value!r}"
        raise ImproperlyConfigured(f"{name} must be an address such as {shapes}{shown}")
    return value


def read_sender(name: str, default: str) -> str:
    """`Name <name@host>` or the bare address: whom mail comes from."""
    value = read_str(name, default)
    addresses = getaddresses([value]) if value.isprintable() else []
    try:
        [(_, address)] = addresses
        validate_email(address)
    except (ValueError, ValidationError):
        raise ImproperlyConfigured(
            f"{name} must be an address such as Name <name@example.org>, not {value!r}"
        ) from None
    return value


def read_addresses(name: str) -> list[str]:
    """`ops@example.org, ...`: bare addresses that mail goes to."""
    addresses = read_words(name)
    for address in addresses:
        try:
            validate_email(address)
        except ValidationError:
            raise ImproperlyConfigured(f"{name}: {address!r} is no address of e-mail") from None
    return addresses


def read_prices(name: str, default: str) -> dict[str, tuple[Decimal, str]]:
    """`provider:model=5.00 RUB, ...` as {"provider:model": (amount, currency)}."""
    prices = {}
    for entry in read_words(name, default):
        model, equals, price = entry.rpartition("=")
        if not equals or ":" not in model:
            raise ImproperlyConfigured(f"{name}: {entry!r} is not provider:model=5.00 RUB")
        if model.strip() in prices:
            raise ImproperlyConfigured(f"{name} names {model.strip()} twice")
        prices[model.strip()] = _money(name, price, most=MOST_PRICE)
    return prices


def read_allowances(
    name: str, *, counted: Iterable[str], stored: Iterable[str]
) -> dict[str, tuple[int, str]]:
    """`mail=300/day, storage=5 GB` as {"mail": (300, "day"), "storage": (5_000_000_000, "bytes")}:
    of `counted` so many a day or a month, of `stored` so many bytes."""
    shapes = dict.fromkeys(counted, _allowed_in_time) | dict.fromkeys(stored, _allowed_bytes)
    allowances: dict[str, tuple[int, str]] = {}
    for entry in read_words(name):
        what, _, said = (part.strip() for part in entry.partition("="))
        if what not in shapes or what in allowances:
            known = ", ".join(sorted(shapes))
            raise ImproperlyConfigured(f"{name}: {entry!r} must name one of {known}, once each")
        allowances[what] = shapes[what](name, said)
    return allowances


def _allowed_in_time(name: str, said: str) -> tuple[int, str]:
    found = re.fullmatch(r"(\d{1,9})(?: (?:requests|mails))?/(day|month)", said, re.ASCII)
    if not found or not int(found[1]):
        raise ImproperlyConfigured(
            f"{name}: {said!r} is not a number such as 300/day or 9000/month"
        )
    return int(found[1]), found[2]


def _allowed_bytes(name: str, said: str) -> tuple[int, str]:
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ([MGT]B)", said, re.ASCII)
    most = int(Decimal(found[1]) * BYTES[found[2]]) if found else 0
    if not most:
        raise ImproperlyConfigured(f"{name}: {said!r} is not a size such as 500 MB or 5 GB")
    return most, "bytes"


def read_money(name: str) -> tuple[Decimal, str] | None:
    """`500.00 RUB` as (amount, currency); None when nothing is said."""
    said = read_str(name)
    return _money(name, said, most=MOST_MONEY) if said else None


def _money(name: str, said: str, *, most: Decimal) -> tuple[Decimal, str]:
    amount, _, currency = said.strip().partition(" ")
    currency = currency.strip()
    try:
        value = Decimal(amount)
    except InvalidOperation:
        value = Decimal("NaN")
    if len(currency) != 3 or not currency.isalpha() or not currency.isupper():
        raise ImproperlyConfigured(f"{name}: {said!r} is not an amount such as 5.00 RUB")
    if not (value.is_finite() and LEAST_PRICE <= value <= most):
        raise ImproperlyConfigured(f"{name}: {said!r} must be from {LEAST_PRICE} to {most}")
    return value, currency
