"""Calls led into every state by the ledger itself."""

from datetime import datetime
from decimal import Decimal

from providers.adapters.registry import Offer
from providers.calls import ledger
from providers.calls.models import Call
from providers.outcomes import (
    Accepted,
    Artifact,
    Cause,
    Done,
    Failed,
    Outcome,
    Rejected,
    Unknown,
)

OFFER = Offer("polza", "google/gemini-2.5-flash-image")
NEWS: dict[str, Outcome] = {
    "accepted": Accepted("gen_news"),
    "done": Done((Artifact(url="https://pictures.test/1.png"),), Decimal(5)),
    "failed": Failed(Cause("provider", code="BAD_GATEWAY"), Decimal(2)),
    "rejected": Rejected(Cause("auth", rule="refused", http=401)),
    "unknown": Unknown(Cause("transport", rule="lost")),
}
WAY_TO = {
    "sending": [],
    "accepted": ["accepted"],
    "unknown": ["unknown"],
    "succeeded": ["accepted", "done"],
    "rejected": ["rejected"],
    "failed": ["accepted", "failed"],
    "given_up": ["unknown", "give_up"],
}


def open_call(now: datetime, work: str = "image:1", offer: Offer = OFFER) -> Call:
    call = ledger.open_call(work=work, offer=offer, now=now)
    assert call
    return call


def call_in(state: str, now: datetime, work: str = "image:1") -> Call:
    call = open_call(now, work)
    for step in WAY_TO[state]:
        if step == "give_up":
            ledger.give_up(call_id=call.pk, now=now)
        elif step == "accepted":
            ledger.record(call_id=call.pk, news=Accepted(f"gen_{call.pk}"), now=now)
        else:
            ledger.record(call_id=call.pk, news=NEWS[step], now=now)
    call.refresh_from_db()
    assert call.state == state
    return call
