"""The table of faults is whole, legal, and says of money what the names say."""

import pytest

from providers.sandbox import tricks
from providers.sandbox.faults import FAULTS, find_fault
from providers.sandbox.webhooks import HOOKED
from tests.fault_ends import DELIVERED, EXPECTED_ENDS, EXPECTED_FAULTS, NOT_EXECUTED, expect

CALLS = {"sending", "accepted", "unknown", "succeeded", "rejected", "failed", "given_up"}
JOBS = {"queued", "running", "in_doubt", "ready", "failed", "cancelled", "not_confirmed"}
REASONS = {
    "", "config", "auth", "balance", "rate", "input", "content", "no_output", "provider",
    "cancelled", "deadline", "transport", "not_fetched",
}  # fmt: skip
NEVER_EXECUTED = {
    "refuse", "http_401", "http_402", "http_422", "http_429", "http_429_after", "json_5xx",
    "drop_before", "redirect_303", "html_502", "html_504", "html_524",
}  # fmt: skip
EXECUTED_FREE = {"fail", "cancelled"}

each_fault = pytest.mark.parametrize("fault", EXPECTED_FAULTS, ids=lambda fault: fault.name)


def test_names_are_unique():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_the_ends_are_those_of_the_faults_of_the_sandbox():
    assert EXPECTED_ENDS.keys() == {fault.name for fault in FAULTS}


@each_fault
def test_only_a_run_whose_picture_can_be_delivered_gives_one(fault):
    is_delivered = {"ready", "in_doubt"} & {fault.job, fault.hooked_end.job}
    assert fault.fault.gives_picture == bool(fault.executions and is_delivered)


def test_titles_are_unique():
    assert len({str(fault.title) for fault in FAULTS}) == len(FAULTS)


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError):
        find_fault("earthquake")


@each_fault
def test_ends_are_words_of_the_states(fault):
    assert fault.call in CALLS
    assert fault.attempt in {"pending", "success", "failed"}
    assert fault.job in JOBS
    assert fault.reason in REASONS


@each_fault
def test_only_a_ready_job_has_no_reason(fault):
    assert (fault.reason == "") == (fault.job == "ready")


@each_fault
def test_slot_follows_the_outcome(fault):
    slots = {"ready": "success", "failed": "failed", "in_doubt": "pending"}
    assert fault.attempt == slots[fault.job]


@each_fault
def test_executions_and_charges_are_those_of_the_name(fault):
    executed = fault.name not in NEVER_EXECUTED
    charged = executed and fault.name not in EXECUTED_FREE
    assert (fault.executions, fault.charges) == (int(executed), int(charged))


@each_fault
def test_only_what_is_in_doubt_ends_otherwise_where_it_is_searched_for(fault):
    found = fault.ends.found
    if found:
        assert fault.call == "unknown"
        assert found == (DELIVERED if fault.executions else NOT_EXECUTED)
    else:
        assert fault.call != "unknown" or fault.name == "list_two"


@each_fault
def test_what_is_not_executed_is_answered_somehow(fault):
    assert fault.executions or tricks.submit_trick(fault.fault, submits=1)


@each_fault
def test_says_one_or_two_sentences_about_the_provider(fault):
    says = str(fault.fault.says)
    assert says[0].isupper()
    assert says.endswith(".")
    assert says.count(". ") <= 1


@pytest.mark.parametrize("name", sorted(HOOKED))
def test_where_webhooks_come_what_was_paid_is_delivered(name):
    fault = expect(name)
    end = fault.hooked_end
    assert (end.job, end.reason, fault.charges) == ("ready", "", 1)
    # A slot that was given back stays so.
    assert end.attempt == ("failed" if fault.attempt == "failed" else "success")


def test_only_a_fault_with_a_webhook_ends_otherwise_by_one():
    assert {name for name, ends in EXPECTED_ENDS.items() if ends.hooked} <= HOOKED
