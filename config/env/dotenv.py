"""Reading a `.env` file."""

import os
import re
from difflib import get_close_matches
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config.env.values import KNOWN, read_text

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
COMMENT = re.compile(r"\s#")


LOADED: set[str] = set()
"""The names that `.env` files gave in this process."""


def mistyped_names() -> list[tuple[str, str]]:
    """Names of `.env` that no setting has, each with the setting that is spelled almost so. Other
    programs may keep their own there."""
    found = []
    for name in sorted(LOADED - KNOWN):
        close = get_close_matches(name.upper(), KNOWN, n=1, cutoff=0.85)
        found += [(name, close[0])] if close else []
    return found


def load_dotenv(path: Path) -> None:
    """Lines `NAME=value` of a `.env` file; variables that are already set take precedence."""
    if not path.is_file():
        return
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(path.name, path).splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not equals or not NAME.fullmatch(name):
            raise ImproperlyConfigured(f"{path.name} line {number} is not NAME=value")
        if name in found:
            raise ImproperlyConfigured(f"{path.name} line {number} sets {name} a second time")
        try:
            found[name] = _unquoted(value)
        except ValueError as exc:
            raise ImproperlyConfigured(f"{path.name} line {number}: {name} {exc}") from None
    LOADED.update(found)
    for name, value in found.items():
        os.environ.setdefault(name, value)


def _unquoted(value: str) -> str:
    """Without its quotation marks, or without the comment that follows a blank."""
    text = value.strip()
    if not text.startswith(('"', "'")):
        return COMMENT.split(value, maxsplit=1)[0].strip()
    inside, mark, rest = text[1:].partition(text[0])
    if not mark:
        raise ValueError("has a quotation mark that is not closed")
    if rest.strip() and not COMMENT.match(rest):
        raise ValueError("has something after its closing quotation mark")
    return inside
