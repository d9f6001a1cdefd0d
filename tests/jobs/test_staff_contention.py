"""Staff, the provider's truth and the end of retention at once, on SQLite and on PostgreSQL."""

import pytest

from tests.quotas.test_contention import contend, errors_in


@pytest.fixture
def found(each_database, tmp_path) -> dict:
    return contend(each_database, "decide", tmp_path, module="tests.jobs.deciders")


def test_a_decision_takes_effect_once_whoever_races(found):
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
