"""The engine's constants fit together, and only tests replace them."""

from datetime import timedelta

import pytest

from config import constants
from providers.adapters import registry
from tests.configured import read_settings
from tests.scaled import CONSTANTS, convert
from tests.site_process import find_settings_module


def test_the_queue_ends_no_worker_in_the_middle_of_a_paid_request():
    assert registry.longest_answer().total_seconds() < constants.JOB_TIMEOUT


def test_the_ticker_keeps_its_duty_between_two_rounds():
    assert timedelta(seconds=constants.TICK_EVERY) < constants.TICKER_LEASE_LASTS


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_the_environment_of_a_site_changes_no_constant(tmp_path, name):
    assert read_settings(tmp_path, **{name: "7"})[name] == CONSTANTS[name]


def test_a_site_of_a_test_replaces_constants_by_their_type():
    assert find_settings_module({"LEASE_LASTS": "1.5"}) == "tests.scaled"
    assert find_settings_module({"POLL_EVERY": "1.5"}) == "config.settings"
    assert convert("1.5", constants.LEASE_LASTS) == timedelta(seconds=1.5)
    assert convert("7", constants.POLL_THREADS) == 7
    assert convert("0.5", constants.PROBE_EVERY) == 0.5
    assert convert("ED25519", constants.SANDBOX_HOOKS) == "ED25519"
