"""A sign-in by two tabs while its visitor orders, its user orders and attempts are settled: nothing
is sold twice and nothing is lost, on SQLite and on PostgreSQL."""

import pytest

from tests.quotas.test_contention import contend, errors_in

ALLOWED = 10


@pytest.fixture
def rounds(each_database, tmp_path) -> list[dict]:
    return contend(each_database, "sign_in", tmp_path, module="tests.jobs.contenders")


def test_nothing_is_oversold_and_nothing_is_lost(rounds):
    assert [error for played in rounds for error in errors_in(played["answers"])] == []
    for played in rounds:
        # Every order that was taken is the user's, and nothing else is anybody's.
        assert set(played["owned"]) >= set(played["ordered"])
        assert (played["left_behind"], played["spent"]) == (0, True)
        # Seats are single, and only a full account left any behind; one came free since, perhaps.
        seats = played["seats"]
        assert len(seats) == len(set(seats)) <= ALLOWED
        assert max(seats) <= ALLOWED
        assert played["stayed"] == 0 or len(seats) >= ALLOWED - 1
        # Each attempt was settled once, as it was meant.
        assert played["answers"][4]["settled"] == [True, True]
        assert played["states"] == [["success"], ["failed"]]
        refused = {why for answer in played["answers"] for why in answer.get("refused", [])}
        assert refused <= {"closed", "full"}
