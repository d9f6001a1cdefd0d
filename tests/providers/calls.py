"""Calls led into every state by the ledger itself."""

from datetime import datetime
from decimal import Decimal

from providers import ledger
from providers.answers import Accepted, Artifact, Done, Failed, News, Rejected, Unknown, Why
from providers.models import Call
from providers.registry import Offer

OFFER = Offer("polza", "google/gemini-2.5-flash-image")
NEWS: dict[str, News] = {
    "accepted": Accepted("gen_news"),
    "done": Done((Artifact(url="https://pictures.test/1.png"),), Decimal(5)),
    "failed": Failed(Why("provider", code="BAD_GATEWAY"), Decimal(2)),
    "rejected": Rejected(Why("auth", rule="refused", http=401)),
    "unknown": Unknown(Why("transport", rule="lost")),
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
