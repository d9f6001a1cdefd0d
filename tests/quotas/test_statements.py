"""Reserving costs one statement on SQLite and two on PostgreSQL."""

import pytest

from tests.quotas.test_contention import contend

LOCK, INSERT = "SELECT 1 FROM quotas_account", "INSERT INTO quotas_attempt"


@pytest.fixture
def reservation(each_database, tmp_path):
    return contend(each_database, "", tmp_path, "tests.quotas.reserver")


def test_reserving_costs_no_statement_but_these(reservation, each_database):
    beginnings = {"sqlite": [INSERT], "postgresql": [LOCK, INSERT]}[each_database.vendor]
    statements = reservation["statements"]
    assert len(statements) == len(beginnings), statements
    assert all(map(str.startswith, statements, beginnings)), statements


def test_returned_attempt_is_the_stored_row(reservation):
    assert reservation["returned"] == reservation["stored"]
    assert reservation["returned"]["slot"] == "1"
