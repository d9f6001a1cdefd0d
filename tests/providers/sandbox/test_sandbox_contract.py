"""The product's own Polza adapter against the sandbox: every fault is read as the table says."""

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from providers.answers import Accepted, Done, Failed, NoAnswer, Rejected, Running, Unknown
from providers.base import PictureRequest
from providers.polza import SandboxPolza
from providers.sandbox.faults import FAULTS

CALLS = {Rejected: "rejected", Unknown: "unknown", Done: "succeeded", Failed: "failed"}


@pytest.fixture
def adapter(anywhere, settings):
    settings.SUBMIT_TIMEOUT, settings.READ_TIMEOUT = 1.0, 0.5
    settings.PROVIDER_CA_BUNDLE = str(anywhere.ca_file)
    return SandboxPolza(name="sandbox", base_url=anywhere.url, key="sandbox")


def submit(adapter, fault):
    request = PictureRequest(work="image:1", model="test-picture", prompt="a fox", fault=fault)
    return adapter.submit(request, send_by=datetime.now(UTC) + timedelta(seconds=10))


def follow(adapter, outcome):
    """Poll an accepted generation to its end; any other outcome is an end already."""
    if not isinstance(outcome, Accepted):
        return outcome
    give_up_at = time.monotonic() + 10
    while isinstance(polled := adapter.poll(outcome.reference), Running | NoAnswer):
        assert time.monotonic() < give_up_at, polled
        time.sleep(0.005)
    return polled


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_adapter_reads_each_fault_as_the_table_says(adapter, anywhere, fault):
    outcome = submit(adapter, fault.name)
    if fault.name == "http_429_once":
        outcome = submit(adapter, fault.name)
    outcome = follow(adapter, outcome)
    reason = "" if isinstance(outcome, Done) else outcome.why.kind
    expected = "" if fault.call == "succeeded" else fault.reason
    assert (CALLS[type(outcome)], reason) == (fault.call, expected)
    assert anywhere.booked() == (fault.executions, fault.charges)


@pytest.mark.parametrize(
    ("fault", "cost"), [("ok", 5), ("fail", 0), ("fail_billed", 5), ("text_only", 5)]
)
def test_the_adapter_reads_the_cost(adapter, fault, cost):
    assert follow(adapter, submit(adapter, fault)).cost == Decimal(cost)


@pytest.mark.parametrize(("fault", "wait"), [("http_429", None), ("http_429_after", 1)])
def test_the_adapter_reads_the_wait(adapter, fault, wait):
    assert submit(adapter, fault).why.retry_after == wait
