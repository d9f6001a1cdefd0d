"""Each bench has a full size, and a miniature that the suite runs so that no bench rots."""

import os
from typing import TypeVar

Size = TypeVar("Size")
VARIABLE = "MINIATURE"


def choose(full: Size, miniature: Size) -> Size:
    return miniature if os.environ.get(VARIABLE) else full


def inherited() -> dict[str, str]:
    """For a child process that gets an environment of its own."""
    return {VARIABLE: os.environ.get(VARIABLE, "")}
