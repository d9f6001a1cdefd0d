"""The product's own Polza adapter against the sandbox: every fault is read as the table says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

import pytest

from providers.adapters.base import PictureRequest
from providers.adapters.sandbox import SandboxPolza
from providers.outcomes import (
    Accepted,
    Done,
    Failed,
    Listing,
    NoAnswer,
    NoOutput,
    Rejected,
    Running,
    Unknown,
)
from tests.fault_ends import EXPECTED_FAULTS
from tests.site_process import wait_until

# These answers never come: it is our own patience that ends.
HELD = {"hang_after", "drip"}
CALLS = {Rejected: "rejected", Unknown: "unknown", Done: "succeeded", Failed: "failed"}
# More than any fault leaves before the output is listed.
EMPTY_POLLS = 5


@pytest.fixture
def adapter(anywhere, settings):
    settings.PROVIDER_CA_BUNDLE = str(anywhere.ca_file)
    return SandboxPolza(name="sandbox", base_url=anywhere.url, key="sandbox")


def submit(adapter, fault):
    """Accepted, too, where the headers named the run before the answer was lost."""
    request = PictureRequest(work="image:1", model="test-picture", prompt="a fox", fault=fault)
    named: list[str] = []
    send_by = datetime.now(UTC) + timedelta(seconds=30)
    outcome = adapter.submit(request, send_by=send_by, note_id=named.append)
    return Accepted(named[0]) if named and isinstance(outcome, Unknown) else outcome


def follow(adapter, outcome):
    """Poll an accepted generation to its end; any other outcome is an end already."""
    if not isinstance(outcome, Accepted):
        return outcome

    empty = count(1)

    def end():
        polled = adapter.poll(outcome.reference, "test-picture")
        if isinstance(polled, NoAnswer) or isinstance(polled.outcome, Running):
            return None
        if isinstance(polled.outcome, NoOutput) and next(empty) < EMPTY_POLLS:
            return None
        assert polled.reference == outcome.reference
        return polled.outcome

    return wait_until(end)


def kind_of(outcome):
    if isinstance(outcome, NoOutput):
        return "failed", "no_output"
    return CALLS[type(outcome)], "" if isinstance(outcome, Done) else outcome.why.kind


@pytest.mark.parametrize("fault", EXPECTED_FAULTS, ids=lambda fault: fault.name)
def test_the_adapter_reads_each_fault_as_the_table_says(adapter, anywhere, fault):
    if fault.name in HELD:
        adapter.caps = replace(adapter.caps, answer_timeout=3)
    outcome = submit(adapter, fault.name)
    if fault.name == "http_429_once":
        outcome = submit(adapter, fault.name)
    outcome = follow(adapter, outcome)
    assert kind_of(outcome) == (fault.call, "" if fault.call == "succeeded" else fault.reason)
    wait_until(lambda: anywhere.booked() == (fault.executions, fault.charges))


@pytest.mark.parametrize(
    ("fault", "cost"), [("ok", 5), ("fail", 0), ("fail_billed", 5), ("text_only", 5)]
)
def test_the_adapter_reads_the_cost(adapter, fault, cost):
    assert follow(adapter, submit(adapter, fault)).cost == Decimal(cost)


@pytest.mark.parametrize(("fault", "wait"), [("http_429", None), ("http_429_after", 1)])
def test_the_adapter_reads_the_wait(adapter, fault, wait):
    assert submit(adapter, fault).why.retry_after == wait


def test_the_adapter_lists_what_ran(adapter, anywhere):
    began = datetime.now(UTC) - timedelta(minutes=1)
    submit(adapter, "drop_before")
    outcomes = [submit(adapter, fault) for fault in ("ok", "drop_after", "fail")]
    listing = adapter.runs_between(began, began + timedelta(minutes=2))
    ran = [entry["id"] for entry in anywhere.ledger()["generations"]]
    assert [run.reference for run in listing.runs] == ran
    assert (ran[0], ran[2]) == (outcomes[0].reference, outcomes[2].reference)
    assert {run.model for run in listing.runs} == {"test-picture"}
    assert listing.is_complete
    assert adapter.runs_between(began, began + timedelta(seconds=1)).runs == ()


def test_a_long_list_comes_whole(adapter, anywhere):
    for number in range(120):
        anywhere.submit(work=f"image:{number}", key={"Authorization": "Bearer sandbox"})
    now = datetime.now(UTC)
    listing = adapter.runs_between(now - timedelta(minutes=5), now + timedelta(minutes=1))
    assert (len(listing.runs), listing.is_complete) == (120, True)


def test_a_list_that_fails_is_no_answer(adapter):
    submit(adapter, "list_fails")
    now = datetime.now(UTC)
    span = (now - timedelta(minutes=1), now + timedelta(minutes=1))
    answers = [adapter.runs_between(*span) for _ in range(3)]
    assert [type(answer) for answer in answers] == [NoAnswer, NoAnswer, Listing]
