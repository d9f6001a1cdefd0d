"""Many processes on the same seats: what the database promises, on SQLite and on PostgreSQL."""

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing

import psycopg
import pytest

from tests.databases import ROOT, Database

# Notes for every seat how many were held right after it was taken, its own row included. The lock
# makes the notes of PostgreSQL follow one another, each seeing what was committed before it.
NOTE_SEATS = {
    "sqlite": """
        CREATE TABLE seat_note (allowed integer, held integer);
        CREATE TRIGGER note_seat AFTER INSERT ON quotas_attempt BEGIN
            INSERT INTO seat_note SELECT NEW.allowed, COUNT(*) FROM quotas_attempt
             WHERE account_id = NEW.account_id AND kind = NEW.kind AND day = NEW.day
               AND state <> 'failed';
        END;
    """,
    "postgresql": """
        CREATE TABLE seat_note (allowed integer, held integer);
        CREATE FUNCTION note_seat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_advisory_xact_lock(1);
            INSERT INTO seat_note SELECT NEW.allowed, COUNT(*) FROM quotas_attempt
             WHERE account_id = NEW.account_id AND kind = NEW.kind AND day = NEW.day
               AND state <> 'failed';
            RETURN NULL;
        END $$;
        CREATE TRIGGER note_seat AFTER INSERT ON quotas_attempt
            FOR EACH ROW EXECUTE FUNCTION note_seat();
    """,
}


def contend(database: Database, mode: str, folder, module: str = "tests.quotas.contenders"):
    done = subprocess.run(
        [sys.executable, "-m", module, mode],
        cwd=ROOT,
        env=database.environment(folder),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_script(database: Database, script: str) -> None:
    if database.vendor == "sqlite":
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(script)
    else:
        with closing(psycopg.connect(database.url, autocommit=True)) as connection:
            connection.execute(script)


def read_rows(database: Database, query: str) -> list[tuple]:
    if database.vendor == "sqlite":
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
            return connection.execute(query).fetchall()
    with closing(psycopg.connect(database.url)) as connection:
        return connection.execute(query).fetchall()


def errors_in(answers: list[dict]) -> list[str]:
    return [answer["error"] for answer in answers if "error" in answer]


def test_eight_processes_fill_every_account_exactly(each_database, tmp_path):
    answers = contend(each_database, "fill", tmp_path)
    assert errors_in(answers) == []
    assert sum(answer["tries"] for answer in answers) == 20 * 400
    granted = Counter(visitor for answer in answers for visitor, _ in answer["granted"])
    assert granted == {f"visitor {number}": 20 for number in range(20)}
    # First use by all at once has made one row an account, and the seats are 1 to 20.
    seats = "SELECT account_id, COUNT(*), MIN(slot), MAX(slot) FROM quotas_attempt GROUP BY 1"
    assert [row[1:] for row in read_rows(each_database, seats)] == [(20, 1, 20)] * 20
    assert read_rows(each_database, "SELECT COUNT(*) FROM quotas_account") == [(20,)]


def test_no_seat_beyond_the_allowance_while_plan_and_grants_change(each_database, tmp_path):
    run_script(each_database, NOTE_SEATS[each_database.vendor])
    answers = contend(each_database, "churn", tmp_path)
    assert errors_in([*answers["taken"], answers["changed"]]) == []
    notes = read_rows(each_database, "SELECT allowed, held FROM seat_note")
    assert len(notes) == sum(answer["granted"] for answer in answers["taken"])
    assert len({allowed for allowed, _ in notes}) > 5
    assert [note for note in notes if note[1] > note[0]] == []
    # After the last change everybody kept trying.
    held = "SELECT COUNT(*), COUNT(DISTINCT slot), MAX(slot) FROM quotas_attempt"
    assert read_rows(each_database, f"{held} WHERE state <> 'failed'") == [(30, 30, 30)]


def test_attempt_is_settled_once_whoever_races(each_database, tmp_path):
    answers = contend(each_database, "settle", tmp_path)
    assert errors_in(answers) == []
    winners = sorted((pk, answer["state"]) for answer in answers for pk in answer["won"])
    assert len(winners) == 40
    assert winners == sorted(read_rows(each_database, "SELECT id, state FROM quotas_attempt"))


@pytest.fixture
def race(postgres_database, tmp_path):
    return contend(postgres_database, "wait", tmp_path)


@pytest.mark.postgres
def test_second_transaction_waits_and_takes_the_next_seat(race):
    assert race["committed"] == {"slot": 2, "inserts": 1}


@pytest.mark.postgres
def test_second_transaction_takes_the_seat_that_was_rolled_back(race):
    assert race["rolled_back"] == {"slot": 1, "inserts": 1}
