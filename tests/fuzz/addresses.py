"""Every address of the site, from its resolver: a list of parts, text or the name of a value."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

PLACE = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Address:
    name: str
    parts: tuple[str, ...]
    """Text and names of values in turn, text first."""


def all_addresses() -> list[Address]:
    found = {f"/{route}": name for route, name in _routes(get_resolver())}
    found |= {"/nowhere": "nowhere", "/static/app.css": "static", "/media/<token>": "nowhere"}
    return [Address(name, tuple(PLACE.split(route))) for route, name in found.items()]


def _routes(resolver, within: str = "") -> Iterator[tuple[str, str]]:
    for entry in resolver.url_patterns:
        route = within + _text_of(entry.pattern)
        if isinstance(entry, URLPattern):
            yield route, str(entry.name)
        else:
            yield from _routes(entry, route)


def _text_of(pattern) -> str:
    if isinstance(pattern, RoutePattern):
        return str(pattern)
    # The admin's few regular expressions: `^(?P<app_label>a|b)/$` and `(?P<url>.*)$`.
    return re.sub(r"\(\?P<(\w+)>[^)]*\)", r"<\1>", str(pattern)).strip("^$")
