"""The state of a gate and the reason of its pause, in words for staff."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers.calls.models import Gate
from providers.routing.gates import STAFF

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

WHY: dict[str, "StrPromise"] = {
    "auth": _("key refused"),
    "balance": _("balance spent"),
    "cancelled": _("cancelled by the provider"),
    "config": _("model or address not known to the provider"),
    "content": _("prompt refused"),
    "deadline": _("outcome never found out"),
    "input": _("request refused"),
    "no_output": _("finished without a result"),
    "provider": _("provider error"),
    "rate": _("too many requests"),
    "staff": _("by staff"),
    "transport": _("connection lost or not made"),
}


def reason_in_words(why: str) -> str:
    """A reason that is not in the table is shown as it is."""
    return str(WHY.get(why, why))


@dataclass(frozen=True)
class GateState:
    """`tone` is one of up, failing, paused, unused."""

    tone: str
    word: str
    why: str = ""
    since: datetime | None = None
    is_by_staff: bool = False


def describe_gate(gate: Gate | None, now: datetime) -> GateState:
    if gate is None or gate.blocked_until is None:
        return GateState("up", gettext("Up"))
    if gate.why == STAFF:
        return GateState("paused", gettext("Paused by staff"), since=gate.since, is_by_staff=True)
    if now < gate.blocked_until:
        word = gettext("Paused until %(time)s UTC") % {
            "time": f"{gate.blocked_until:%d %b %H:%M:%S}"
        }
    else:
        word = gettext("Next request is a trial")
    return GateState("paused", word, reason_in_words(gate.why), gate.since)
