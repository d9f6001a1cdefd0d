"""What a fault of the sandbox is, and what the sandbox executes and charges for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    title: StrPromise
    says: StrPromise
    executions: int
    charges: int
    # A run ends with a picture that can be downloaded.
    gives_picture: bool


def picture(name: str, title: StrPromise, says: StrPromise) -> Fault:
    return Fault(name, title, says, executions=1, charges=1, gives_picture=True)


def not_executed(name: str, title: StrPromise, says: StrPromise) -> Fault:
    return Fault(name, title, says, executions=0, charges=0, gives_picture=False)


def no_picture(name: str, title: StrPromise, says: StrPromise) -> Fault:
    """Executed and charged, but there is nothing to download."""
    return Fault(name, title, says, executions=1, charges=1, gives_picture=False)


def free_failure(name: str, title: StrPromise, says: StrPromise) -> Fault:
    return Fault(name, title, says, executions=1, charges=0, gives_picture=False)
