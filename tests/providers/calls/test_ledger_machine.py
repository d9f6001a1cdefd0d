"""The call ledger against a plain model, by whatever sequence of steps is thought of.

Senders, pollers and staff act on the same works with what they knew at some earlier time. After
each step the rows are those of the model: one call a work in the wall, no ended state changed.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from providers.adapters.registry import Offer
from providers.calls import ledger
from providers.calls.models import Call
from providers.outcomes import Accepted, Cause, Done, Failed, Outcome, Rejected, Unknown

OFFERS = (Offer("polza", "a"), Offer("sandbox", "b"))
WALL = {"sending", "accepted", "unknown", "succeeded"}
LIVE = WALL - {"succeeded"}
ENDED = {"succeeded", "rejected", "failed", "given_up"}
MAY_FOLLOW = {
    "accepted": {"sending", "unknown"},
    "unknown": {"sending"},
    "rejected": {"sending", "unknown"},
    "failed": LIVE,
    "succeeded": LIVE,
    "given_up": {"accepted", "unknown"},
}
ANY = st.integers(0, 99)
NEWS = st.sampled_from(["accepted", "unknown", "rejected", "failed", "succeeded"])


@dataclass
class Row:
    pk: int
    work: str
    provider: str
    state: str = "sending"
    reference: str | None = None


class Calls(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.rows: dict[int, Row] = {}

    def teardown(self) -> None:
        if hasattr(self, "atomic"):
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    def pick(self, number: int) -> Row | None:
        rows = list(self.rows.values())
        return rows[number % len(rows)] if rows else None

    @rule(work=st.integers(0, 2), offer=st.sampled_from(OFFERS))
    def send(self, work: int, offer: Offer) -> None:
        key = f"image:{work}"
        is_held = any(row.work == key and row.state in WALL for row in self.rows.values())
        call = ledger.open_call(work=key, offer=offer, now=self.now)
        assert (call is None) == is_held
        if call:
            self.rows[call.pk] = Row(call.pk, key, offer.provider)

    @rule(number=ANY, name=NEWS, reference=st.integers(0, 3))
    def hear(self, number: int, name: str, reference: int) -> None:
        row = self.pick(number)
        if row is None:
            return
        recorded = ledger.record(call_id=row.pk, news=self.news(name, reference), now=self.now)
        state, told = self.what_it_means(row, name, f"run-{reference}")
        assert recorded.changed == (row.state in MAY_FOLLOW[state])
        if recorded.changed:
            row.state, row.reference = state, told
        assert recorded.call.state == row.state

    @rule(number=ANY, reference=st.integers(0, 3))
    def read_the_headers(self, number: int, reference: int) -> None:
        row = self.pick(number)
        if row is None:
            return
        told = f"run-{reference}"
        is_new = row.state == "sending" and row.reference is None and not self.has(row, told)
        assert ledger.note_early_id(row.pk, told) == is_new
        if is_new:
            row.reference = told

    @rule(number=ANY)
    def give_up(self, number: int) -> None:
        row = self.pick(number)
        if row is None:
            return
        changed = ledger.give_up(call_id=row.pk, now=self.now)
        assert changed == (row.state in MAY_FOLLOW["given_up"])
        if changed:
            row.state = "given_up"

    @rule(seconds=st.integers(1, 100_000))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def news(self, name: str, reference: int) -> Outcome:
        return {
            "accepted": Accepted(f"run-{reference}"),
            "unknown": Unknown(Cause("transport", rule="lost")),
            "rejected": Rejected(Cause("provider", rule="refused")),
            "failed": Failed(Cause("provider"), Decimal(reference)),
            "succeeded": Done((), Decimal(5)),
        }[name]

    def what_it_means(self, row: Row, name: str, told: str) -> tuple[str, str | None]:
        """The state the news calls for, and the id the call then has."""
        if name == "unknown" and row.state == "sending" and row.reference:
            return "accepted", row.reference
        if name == "accepted" and self.has(row, told):
            return "unknown", row.reference
        return name, told if name == "accepted" else row.reference

    def has(self, asking: Row, reference: str) -> bool:
        """Another call of the provider has that id."""
        held = Call.objects.filter(provider=asking.provider, reference=reference)
        return held.exclude(pk=asking.pk).exists()

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        if not hasattr(self, "rows"):
            return
        for call in Call.objects.filter(pk__in=self.rows):
            row = self.rows[call.pk]
            assert call.state == row.state
            assert (call.ended_at is not None) == (call.state in ENDED)
            assert call.state not in LIVE or call.poll_at is not None
            assert not call.late_outcome or call.state in ENDED

    @invariant()
    def the_wall_holds(self) -> None:
        held = [row.work for row in getattr(self, "rows", {}).values() if row.state in WALL]
        assert len(held) == len(set(held))


@pytest.mark.django_db
def test_ledger_is_as_the_model_whatever_is_done():
    run_state_machine_as_test(Calls, settings=settings(max_examples=40, stateful_step_count=30))
