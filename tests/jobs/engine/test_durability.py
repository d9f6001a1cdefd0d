"""What must be on the disk before a row says so: this is as near to a power cut as a test gets."""

import os
from contextlib import closing

import pytest
from django.db import connection
from django.db.backends.sqlite3.base import DatabaseWrapper

from config.settings import SQLITE
from jobs.files import storing


@pytest.fixture
def disk(monkeypatch):
    """What was done to the disk, in order: the synced inode, or the name that a file was given."""
    done: list[object] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append(os.fstat(fd).st_ino), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda src, to: (done.append(to.name), replace(src, to)))
    return done


def test_a_picture_is_synced_before_it_has_its_name_and_its_folder_after(settings, tmp_path, disk):
    settings.MEDIA_ROOT = tmp_path
    path = tmp_path / "ab" / "picture.png"
    storing.store("ab/picture.png", b"all of it")
    assert disk == [path.stat().st_ino, "picture.png", path.parent.stat().st_ino]
    assert [file.name for file in path.parent.iterdir()] == ["picture.png"]


def test_a_folder_that_cannot_be_synced_loses_no_picture(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path

    def refuse(path, flags):
        raise OSError("not on this file system")

    monkeypatch.setattr(os, "open", refuse)
    storing.store("picture.png", b"all of it")
    assert (tmp_path / "picture.png").read_bytes() == b"all of it"


def test_sqlite_syncs_every_commit(db, tmp_path):
    options = {**connection.settings_dict, **SQLITE, "NAME": tmp_path / "own.sqlite3"}
    database = DatabaseWrapper(options, "own")
    with closing(database), database.cursor() as cursor:
        cursor.execute("PRAGMA synchronous")
        full = 2
        assert cursor.fetchone() == (full,)
        cursor.execute("PRAGMA journal_mode")
        assert cursor.fetchone() == ("wal",)
