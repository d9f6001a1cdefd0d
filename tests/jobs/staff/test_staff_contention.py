"""Staff, the provider's truth and the end of retention at once, on SQLite and on PostgreSQL."""

import pytest

from tests.quotas.test_contention import contend, errors_in

# As in tests/jobs/deciders.py, which is a program.
JOBS = 24


@pytest.fixture
def contest(each_database, tmp_path):
    return lambda mode: contend(each_database, mode, tmp_path, module="tests.jobs.deciders")


def test_a_decision_takes_effect_once_whoever_races(contest):
    found = contest("decide")
    first, second, attacher, same, *_ = found["answers"]
    assert errors_in(found["answers"]) == []
    assert found["violations"] == []
    assert found["most_of_a_call"] == found["most_holders"] == 1
    assert found["strange"] == []
    given = first["taken"] + second["taken"]
    assert found["entries"].get("give_back", 0) == found["events"].get("given_back", 0) == given
    attached = attacher["taken"] + same["taken"]
    assert found["entries"].get("attach", 0) == found["events"].get("attached", 0) == attached
    assert same["taken"] <= 1 < given + attached
    assert not any(answer["mute"] for answer in (first, second, attacher, same))


def test_what_was_set_aside_is_set_going_once_whoever_races(contest):
    found = contest("resume")
    first, second, worker, _, people = found["answers"]
    assert errors_in(found["answers"]) == []
    assert found["violations"] == []
    assert found["most_of_a_job"] == 1
    assert found["entries"] == found["events"] == first["taken"] + second["taken"]
    assert 0 < worker["taken"] == worker["different"] <= found["entries"]
    assert found["entries"] + people["cancelled"] >= JOBS
    assert found["forgotten_deaths"] == 0
    assert not any(answer["mute"] for answer in (first, second))
