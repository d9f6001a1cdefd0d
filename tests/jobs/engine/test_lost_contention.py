"""Tickers with the same list, senders that wake, a stranger's claim and the end of retention: a run
belongs to one call, on SQLite and on PostgreSQL."""

import pytest

from tests.jobs.searchers import LOST
from tests.quotas.test_contention import contend, errors_in


@pytest.fixture
def found(each_database, tmp_path) -> dict:
    return contend(each_database, "adopt", tmp_path, module="tests.jobs.searchers")


def test_a_run_is_adopted_once_whoever_races(found):
    assert errors_in(found["answers"]) == []
    assert (found["most_holders"], found["most_events"]) == (1, 1)
    # No call has the run of another, but for the one that was told a wrong id.
    assert found["own"] == LOST
    assert found["held"] + found["given_up"] >= LOST
