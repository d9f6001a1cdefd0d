"""How the drill replaces parts of the site that it starts."""

from typing import Any


def replace(owner: Any, name: str, value: Any) -> Any:
    """Patch an attribute that must exist, so that a renamed one fails at once. Returns the old."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    return before
