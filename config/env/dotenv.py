"""Reading a `.env` file."""

import os
import re
from difflib import get_close_matches
from io import StringIO
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from dotenv.parser import Binding, parse_stream

from config.env.values import KNOWN, read_text

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


LOADED: set[str] = set()
"""The names that `.env` files gave in this process."""


def mistyped_names() -> list[tuple[str, str]]:
    """Names of `.env` that no setting has, each with the setting that is spelled almost the same.
    Other programs may keep their own names there."""
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
    # The parser only marks what it cannot read, and dotenv_values() would log it and go on.
    for binding in parse_stream(StringIO(read_text(path.name, path))):
        line = f"{path.name} line {binding.original.line}"
        if binding.error:
            raise ImproperlyConfigured(f"{line}{_describe_error(binding)}")
        if binding.key is None:
            continue
        if binding.value is None or not NAME.fullmatch(binding.key):
            raise ImproperlyConfigured(f"{line} is not NAME=value")
        if binding.key in found:
            raise ImproperlyConfigured(f"{line} sets {binding.key} a second time")
        found[binding.key] = binding.value
    LOADED.update(found)
    for name, value in found.items():
        os.environ.setdefault(name, value)


def _describe_error(binding: Binding) -> str:
    """The value is not repeated, since it may be a secret."""
    name, equals, _ = binding.original.string.strip().removeprefix("export ").partition("=")
    if not equals or not NAME.fullmatch(name.strip()):
        return " is not NAME=value"
    return f": {name.strip()} has an unclosed quotation mark, or text after a closed one"
