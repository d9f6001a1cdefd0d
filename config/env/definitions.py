"""The definitions of settings, collected while they are read.

Readers add one for each setting that has a help text. docs/configuration.md and .env.example are
written from them (config/reference.py), so that neither repeats a name or a default.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Help:
    """A help text for a default that depends on other settings: `default` is shown in its place,
    and `example` is the value in .env.example."""

    text: str
    default: str = ""
    example: str | None = None


@dataclass(frozen=True)
class Definition:
    group: str
    name: str
    type: str
    default: str
    text: str
    example: str
    is_secret: bool


DEFINITIONS: dict[str, Definition] = {}
_group = ""


@contextmanager
def group(title: str) -> Iterator[None]:
    """Settings that are read inside are listed under this title."""
    global _group
    before, _group = _group, title
    try:
        yield
    finally:
        _group = before


def define(
    name: str, type: str, default: object, help: str | Help, *, is_secret: bool = False
) -> None:
    if not help:
        return
    if isinstance(help, Help):
        text, shown, example = help.text, help.default, help.example
    else:
        text, shown, example = help, format_value(default), None
    DEFINITIONS[name] = Definition(
        group=_group,
        name=name,
        type=type,
        default=shown,
        text=text,
        example=shown if example is None else example,
        is_secret=is_secret,
    )


def format_value(value: object) -> str:
    """As an operator writes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
