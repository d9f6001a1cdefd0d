"""What a fault of the sandbox is, and the ends that many of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


class End(NamedTuple):
    call: str
    attempt: str
    job: str
    reason: str


DELIVERED = End("succeeded", "success", "ready", "")
NOT_EXECUTED = End("rejected", "failed", "failed", "transport")


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    title: StrPromise
    says: StrPromise
    call: str
    attempt: str
    job: str
    reason: str
    executions: int
    charges: int
    # Past the deadline for a while, so the job shows in_doubt before its end.
    in_doubt_first: bool = False
    # The end where webhooks reach the site; None where it is the same.
    hooked: End | None = None
    # The end where lost requests are searched for; None where it is the same.
    found: End | None = None

    def end(self, *, hooked: bool = False) -> End:
        plain = End(self.call, self.attempt, self.job, self.reason)
        return self.hooked or plain if hooked else plain


def ready(name: str, title: StrPromise, says: StrPromise, *, in_doubt_first: bool = False) -> Fault:
    return Fault(name, title, says, "succeeded", "success", "ready", "", 1, 1, in_doubt_first)


def rejected(
    name: str,
    title: StrPromise,
    says: StrPromise,
    *,
    reason: str,
    executions: int = 0,
    hooked: End | None = None,
) -> Fault:
    end = ("rejected", "failed", "failed", reason)
    return Fault(name, title, says, *end, executions, executions, hooked=hooked)


def unknown(
    name: str,
    title: StrPromise,
    says: StrPromise,
    *,
    reason: str = "transport",
    executions: int,
    hooked: End | None = None,
    is_found: bool = True,
) -> Fault:
    end = ("unknown", "pending", "in_doubt", reason)
    found = (DELIVERED if executions else NOT_EXECUTED) if is_found else None
    return Fault(name, title, says, *end, executions, executions, hooked=hooked, found=found)


def failed(
    name: str,
    title: StrPromise,
    says: StrPromise,
    *,
    reason: str = "provider",
    charges: int,
    hooked: End | None = None,
) -> Fault:
    return Fault(name, title, says, "failed", "failed", "failed", reason, 1, charges, False, hooked)


def not_fetched(name: str, title: StrPromise, says: StrPromise) -> Fault:
    return Fault(name, title, says, "succeeded", "failed", "failed", "not_fetched", 1, 1)
