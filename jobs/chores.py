"""What housekeeping does for one kind of job, or for all: one batch at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

BATCH = 200


@dataclass(frozen=True)
class Chore:
    """`count` returns how much is due; `step` removes one batch and returns its size."""

    name: str
    count: Callable[[datetime], int]
    step: Callable[[datetime], int]
