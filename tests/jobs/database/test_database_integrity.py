"""A damaged database is found by its own check, and called damaged."""

import sqlite3
from contextlib import closing

import psycopg
import pytest
from django.db import DatabaseError, OperationalError

from jobs.core.outages import describe
from jobs.database import integrity


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "site.sqlite3"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, words TEXT UNIQUE)")
        rows = ((number, f"{number} {'x' * 200}") for number in range(200))
        database.executemany("INSERT INTO job VALUES (?, ?)", rows)
        database.commit()
    return file


def overwrite(file, offset: int, content: bytes) -> None:
    with open(file, "r+b") as opened:
        opened.seek(offset)
        opened.write(content)


def caused_by(cause: Exception, kind: type[Exception] = DatabaseError) -> Exception:
    error = kind("x")
    error.__cause__ = cause
    return error


def test_a_whole_file_has_no_fault(file):
    assert integrity.faults_of_file(file) == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_zeroed_page_is_found(file, whole):
    overwrite(file, 4096 * 3, bytes(4096))
    assert integrity.faults_of_file(file, whole=whole)


def test_a_cut_tail_is_found(file):
    with open(file, "r+b") as opened:
        opened.truncate(file.stat().st_size - 8192)
    assert integrity.faults_of_file(file, whole=False)


def test_a_file_of_something_else_is_found(file):
    file.write_bytes(b"something else" * 1000)
    assert integrity.faults_of_file(file) == ["file is not a database"]


def test_a_row_that_an_index_misses_is_found_by_the_whole_check_alone(file):
    """The row's text is changed in place, without its index."""
    overwrite(file, file.read_bytes().index(b"7 xxx"), b"8 yyy")
    assert integrity.faults_of_file(file, whole=False) == []
    assert "missing from index" in integrity.faults_of_file(file)[0]


def test_errors_of_a_damaged_database_are_told_from_outages(file):
    overwrite(file, 4096, bytes(4096 * 3))
    with (
        closing(sqlite3.connect(file)) as database,
        pytest.raises(sqlite3.DatabaseError) as raised,
    ):
        database.execute("SELECT count(*) FROM job WHERE words > 'a'").fetchall()
    assert "is malformed" in describe(caused_by(raised.value))


@pytest.mark.parametrize("damage", [psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted])
def test_damage_of_postgresql_is_malformed_too(damage):
    assert "is malformed" in describe(caused_by(damage("invalid page in block 1")))


def test_an_outage_is_no_damage():
    error = caused_by(psycopg.OperationalError("connection refused"), OperationalError)
    assert describe(error) == "cannot be used now (OperationalError)"
