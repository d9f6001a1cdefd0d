"""Is the file the one that the site ran on last, and does the `-wal` next to it belong to it?"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from jobs.database.file import (
    UnusableFile,
    check_file,
    has_commits_beside,
    mark_start,
    note_file,
    side_file,
)


def execute(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


@pytest.fixture
def file(tmp_path):
    """A site has started on it and ended."""
    file = tmp_path / "site.sqlite3"
    execute(file, "PRAGMA journal_mode=WAL", "CREATE TABLE job (id)", "CREATE TABLE call (id)")
    mark_start(file)
    return file


@pytest.fixture
def writer(file):
    """Its last commits are in the `-wal`, as after a kill."""
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("INSERT INTO job VALUES (1)")
        yield database


def copy_by_api(file: Path) -> Path:
    copy = file.with_name("copy")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def test_a_clean_file_may_be_opened(file):
    assert check_file(file) is False


def test_a_wal_of_its_own_may_be_replayed(file, writer):
    assert has_commits_beside(file)
    assert check_file(file) is False


def test_a_wal_of_its_own_is_known_after_a_checkpoint_and_a_migration(file, writer):
    writer.execute("CREATE TABLE picture (id)")
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.execute("INSERT INTO job VALUES (2)")
    assert check_file(file) is False


def test_a_copy_of_the_same_run_by_vacuum_is_refused(file, writer):
    copy = file.with_name("copy")
    writer.execute(f"VACUUM INTO '{copy}'")
    shutil.copy(copy, file)
    with pytest.raises(UnusableFile, match="belongs to another database"):
        check_file(file)


@pytest.mark.parametrize("when", ["same run", "earlier run"])
def test_a_copy_beside_the_wal_of_the_original_is_refused(file, writer, when):
    copy = copy_by_api(file)
    if when == "earlier run":
        mark_start(file)
        writer.execute("INSERT INTO job VALUES (2)")
    shutil.copy(copy, file)
    with pytest.raises(UnusableFile, match="belongs to another database"):
        check_file(file)


def test_another_sites_file_beside_the_wal_is_refused(file, writer, tmp_path):
    other = tmp_path / "other"
    execute(other, "CREATE TABLE job (id)", "PRAGMA user_version = 77")
    shutil.copy(other, file)
    with pytest.raises(UnusableFile, match="move the files that end in -wal"):
        check_file(file)


def test_a_copy_without_a_wal_is_noticed(file):
    shutil.copy(copy_by_api(file), file)
    assert check_file(file) is True


def test_a_file_without_a_note_is_compared_with_nothing(file, writer):
    copy = copy_by_api(file)
    note_file(file).unlink()
    shutil.copy(copy, file)
    assert check_file(file) is False


def test_an_unreadable_note_is_none(file):
    note_file(file).write_text("{")
    assert check_file(file) is False


def test_a_mark_that_another_connection_keeps_in_the_wal_leaves_no_note(file):
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM job").fetchall()
        mark_start(file)
    assert not note_file(file).exists()


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"not a database " * 20])
def test_what_is_no_database_is_refused(tmp_path, content):
    file = tmp_path / "site.sqlite3"
    file.write_bytes(content)
    with pytest.raises(UnusableFile, match=r"is empty|is not a SQLite database"):
        check_file(file)


def test_a_wal_whose_database_is_missing_is_refused(file, writer):
    file.unlink()
    with pytest.raises(UnusableFile, match="is missing"):
        check_file(file)


def test_a_new_site_has_no_file(tmp_path):
    side_file(tmp_path / "new", "-wal").touch()
    assert check_file(tmp_path / "new") is False
