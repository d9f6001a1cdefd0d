"""Typed readers of single values. Each names the variable and what it wants when it fails.

`NAME_FILE` may stand in for any secret `NAME`: the value is then read from that file.
"""

import os
import re
from datetime import timedelta
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.env.definitions import Help, define

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
DECIMAL = re.compile(r"[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})(e[+-]?[0-9]{1,2})?")
LONGEST_FILE = 2**16
LONGEST_SHOWN = 80
UNBOUNDED = 10**9


def read_text(name: str, path: Path) -> str:
    """`name` is what a person calls it. A byte order mark is no part of the text."""
    try:
        if path.exists() and not path.is_file():
            raise ImproperlyConfigured(f"{name}: {shown(str(path))} is not a file")
        with path.open("rb") as file:
            content = file.read(LONGEST_FILE + 1)
        if len(content) > LONGEST_FILE:
            raise ImproperlyConfigured(
                f"{name}: {shown(str(path))} is larger than {LONGEST_FILE} bytes"
            )
        text = content.decode("utf-8-sig")
    except OSError as exc:
        raise ImproperlyConfigured(
            f"{name}: cannot read {shown(str(path))}: {exc.strerror}"
        ) from exc
    except UnicodeDecodeError:
        raise ImproperlyConfigured(f"{name}: {shown(str(path))} is not valid UTF-8") from None
    if "\0" in text:
        raise ImproperlyConfigured(f"{name}: {shown(str(path))} is not text")
    return text


KNOWN: set[str] = set()
"""The names that settings were read by in this process."""


def read_str(name: str, default: str = "", help: str | Help = "") -> str:
    define(name, "text", default, help)
    KNOWN.add(name)
    return _checked(name, os.environ.get(name, "").strip()) or default


def _checked(name: str, value: str) -> str:
    """Such a character is pasted by accident and is invisible."""
    if not value.isprintable():
        raise ImproperlyConfigured(f"{name} contains a line break or an invisible character")
    return value


def read_secret(name: str, help: str | Help = "", *, type: str = "text") -> str:
    define(name, type, "", help, is_secret=True)
    path = read_str(f"{name}_FILE")
    if not path:
        return read_str(name)
    if read_str(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; leave one out")
    value = _checked(f"{name}_FILE", read_text(f"{name}_FILE", Path(path)).strip())
    if not value:
        raise ImproperlyConfigured(f"{name}_FILE: {shown(path)} is empty")
    return value


def shown(value: str) -> str:
    """A value in a message of one line."""
    return repr(value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…")


def read_file(name: str, help: str | Help = "") -> str:
    """The path of a file that can be read, or the empty string."""
    define(name, "path of a file", "", help)
    file = read_str(name)
    try:
        if file and Path(file).exists() and not Path(file).is_file():
            raise ImproperlyConfigured(f"{name}: {shown(file)} is not a file")
        if file:
            Path(file).open("rb").close()
    except OSError as exc:
        raise ImproperlyConfigured(f"{name}: cannot read {shown(file)}: {exc.strerror}") from exc
    return file


def read_bool(name: str, default: bool, help: str | Help = "") -> bool:
    define(name, "`yes` or `no`", default, help)
    KNOWN.add(name)
    if name not in os.environ:
        return default
    word = read_str(name)
    if word.lower() in TRUE_WORDS:
        return True
    if word.lower() in FALSE_WORDS:
        return False
    raise ImproperlyConfigured(f"{name} must be yes or no, not {shown(word)}")


def read_int(
    name: str, default: int, help: str | Help = "", *, least: int = 0, most: int = UNBOUNDED
) -> int:
    define(name, _describe_range(least, most), default, help)
    text = read_str(name, str(default))
    if not WHOLE.fullmatch(text):
        raise ImproperlyConfigured(f"{name} must be a whole number, not {shown(text)}")
    value = int(text)
    if not least <= value <= most:
        raise ImproperlyConfigured(f"{name} must be from {least} to {most}, not {shown(text)}")
    return value


def _describe_range(least: int, most: int) -> str:
    if most == UNBOUNDED:
        return f"whole number, at least {least}"
    return f"whole number, {least} to {most}"


def read_seconds(
    name: str, default: float, help: str | Help = "", *, least: float = 0.01, most: float = 1e8
) -> float:
    define(name, "seconds", default, help)
    text = read_str(name, str(default))
    if not DECIMAL.fullmatch(text):
        raise ImproperlyConfigured(f"{name} must be a number of seconds, not {shown(text)}")
    value = float(text)
    if not least <= value <= most:
        raise ImproperlyConfigured(
            f"{name} must be from {least} to {most} seconds, not {shown(text)}"
        )
    return value


def read_duration(
    name: str, default: float, help: str | Help = "", *, least: float = 0.01
) -> timedelta:
    return timedelta(seconds=read_seconds(name, default, help, least=least))


def read_lag(name: str, help: str | Help = "") -> timedelta | None:
    """Seconds; None if it is not set, since then the lag is not known."""
    define(name, "seconds", None, help)
    return timedelta(seconds=read_seconds(name, 0)) if read_str(name) else None


def read_choice(name: str, default: str, choices: tuple[str, ...], help: str | Help = "") -> str:
    """One of a few words, which are upper case here and may be written in any."""
    define(name, ", ".join(f"`{choice}`" for choice in choices), default, help)
    value = read_str(name, default).upper()
    if value not in choices:
        raise ImproperlyConfigured(
            f"{name} must be one of {', '.join(choices)}, not {shown(value)}"
        )
    return value


def read_words(name: str, default: str = "", help: str | Help = "") -> list[str]:
    define(name, "list, separated by commas", default, help)
    return [word.strip() for word in read_str(name, default).split(",") if word.strip()]


def read_models(name: str, default: str = "", help: str | Help = "") -> list[str]:
    """`provider:model, ...`, without duplicates, in the order given."""
    define(name, "list of `provider:model`", default, help)
    return list(dict.fromkeys(read_words(name, default)))
