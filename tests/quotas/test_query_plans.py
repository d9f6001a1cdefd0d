"""The statements of the ledger read one account, kind and day only, through the two indexes.

On PostgreSQL 999 of 1,000 seats are held, with 20 days of the same account and others around it.
"""

import re
import sqlite3
from contextlib import closing
from datetime import date, datetime

import psycopg
import pytest

from quotas.ledger import BALANCE_SQL, RESERVE_SQL
from quotas.top_accounts import USAGE_SQL

NOW = datetime(2026, 3, 14, 12)
DAY = date(2026, 3, 14)
INDEX_READS = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}
SEAT_INDEX, TRIES_INDEX = "attempt_seat_taken_once", "attempt_may_have_cost"

# 20 days of 120 accounts, of which the first takes 1,000 seats a day and the others 20.
HISTORY = """
INSERT INTO quotas_account (id, plan_id, created_at)
SELECT n, 4, '2026-01-01' FROM generate_series(1, 120) n;
INSERT INTO quotas_attempt (account_id, kind, day, slot, allowed, state, cost_nothing, reserved_at)
SELECT n, 'image', date '2026-03-14' - ago, slot, 1000, 'pending', FALSE, '2026-01-01'
  FROM generate_series(0, 19) ago, generate_series(1, 120) n, generate_series(1, 1000) slot
 WHERE slot <= 20 OR (n = 1 AND slot < 1000)
"""


@pytest.fixture(params=["reserve", "balance"])
def statement(request) -> str:
    return {"reserve": RESERVE_SQL, "balance": BALANCE_SQL}[request.param]


def test_sqlite_searches_attempts_by_index_only(sqlite_database, statement):
    steps = steps_on_sqlite(sqlite_database, statement)
    searches = [step for step in steps if re.search(r"\b(taken|seat|tried)\b USING", step)]
    assert [step.split("INDEX ")[1] for step in searches] == [
        f"{SEAT_INDEX} (account_id=? AND kind=? AND day=?)",
        f"{TRIES_INDEX} (account_id=? AND kind=? AND day=?)",
    ]
    # What is scanned otherwise is made by the statement itself.
    assert not [
        step for step in steps if re.match(r"SCAN (taken|tried|planned|extra|spender)", step)
    ]


def test_sqlite_asks_for_what_a_day_took_at_once(sqlite_database):
    steps = steps_on_sqlite(sqlite_database, USAGE_SQL)
    assert "SEARCH seat USING INDEX attempt_by_state (state=? AND day=?)" in steps
    assert "SEARCH extra USING INDEX grant_of_a_day (account_id=? AND kind=? AND day=?)" in steps
    assert not [step for step in steps if step.startswith("CORRELATED")]


def steps_on_sqlite(database, statement: str) -> list[str]:
    path = database.url.removeprefix("sqlite:///")
    named = re.sub(r"%\((\w+)\)s", r":\1", statement)
    facts = {"account": 1, "kind": "image", "day": str(DAY), "now": str(NOW), "most": 10}
    with closing(sqlite3.connect(path)) as connection:
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {named}", facts)]


@pytest.fixture(scope="module")
def postgres_history(copy_postgres):
    with (
        copy_postgres() as database,
        closing(psycopg.connect(database.url)) as connection,
    ):
        connection.execute(HISTORY)
        connection.commit()
        yield connection


@pytest.mark.postgres
@pytest.mark.parametrize("analyzed", [False, True], ids=["fresh", "analyzed"])
def test_postgres_searches_attempts_by_index_only(postgres_history, statement, analyzed):
    if analyzed:
        postgres_history.execute("ANALYZE")
    nodes = list(walk(explain_on_postgres(postgres_history, statement)))
    postgres_history.rollback()
    reads = [node for node in nodes if node.get("Relation Name") == "quotas_attempt"]
    assert {node["Node Type"] for node in reads} <= {*INDEX_READS, "ModifyTable"}
    used = {node["Index Name"] for node in nodes if "attempt" in node.get("Index Name", "")}
    assert used == {SEAT_INDEX, TRIES_INDEX}
    assert max(node["Actual Rows"] for node in reads) <= 1000


@pytest.mark.postgres
def test_postgres_asks_for_what_a_day_took_at_once(postgres_history):
    """Row by row it seems so dear that the statement is compiled, which takes longer than it."""
    nodes = list(walk(explain_on_postgres(postgres_history, USAGE_SQL)))
    postgres_history.rollback()
    assert "SubPlan" not in {node.get("Parent Relationship") for node in nodes}


def explain_on_postgres(connection: psycopg.Connection, statement: str) -> dict:
    facts = {"account": 1, "kind": "image", "day": DAY, "now": NOW, "most": 10}
    cursor = psycopg.ClientCursor(connection)
    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", facts)
    return cursor.fetchone()[0][0]["Plan"]


def walk(node: dict):
    yield node
    for child in node.get("Plans", []):
        yield from walk(child)
