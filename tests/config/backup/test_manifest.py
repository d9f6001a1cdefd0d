"""Any fault of a backup is found before anything is restored from it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from config.backup import Failed, manifest, restore
from config.backup.manifest import DATABASE, Entry, Manifest

PICTURE = "media/pictures/00/a.png"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A whole backup."""
    (tmp_path / PICTURE).parent.mkdir(parents=True)
    (tmp_path / PICTURE).write_bytes(b"a picture")
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        database.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        database.execute("CREATE TABLE child (parent INTEGER REFERENCES parent (id))")
        database.commit()
    write(tmp_path)
    return tmp_path


def write(folder: Path, *, migrations=(), more: dict[str, Entry] | None = None) -> None:
    names = [name for name in (DATABASE, PICTURE) if (folder / name).exists()]
    files = {
        name: Entry((folder / name).stat().st_size, manifest.hash_file(folder / name))
        for name in names
    }
    made_at = "2026-03-14T12:00:00+00:00"
    found = Manifest(made_at, "0.1.0", "sqlite", list(migrations), "file", "", files | (more or {}))
    manifest.write(folder, found)


def refusal(folder: Path) -> str:
    with pytest.raises(Failed) as failed:
        verify(folder)
    return str(failed.value)


def verify(folder: Path) -> None:
    found = manifest.read(folder)
    manifest.verify(folder, found)
    restore._refuse_unusable(folder / DATABASE, found)


def test_a_whole_backup_is_accepted(folder):
    verify(folder)


@pytest.mark.parametrize("name", [DATABASE, PICTURE])
@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_bit_that_flipped_in_a_file_is_found(folder, name, at):
    content = bytearray((folder / name).read_bytes())
    content[at] ^= 1
    (folder / name).write_bytes(content)
    assert refusal(folder).startswith(f"{folder / name} is damaged")


def test_a_bit_that_flipped_anywhere_in_the_manifest_is_found(folder):
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for at in range(len(whole)):
        if whole[at] not in b" \n":
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert str(path) in refusal(folder)


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", "{", '{"format": 2}', '{"format": 1}'])
def test_a_manifest_that_is_none_is_refused(folder, content):
    (folder / "manifest.json").write_text(content)
    assert "manifest.json" in refusal(folder)


def test_a_backup_that_did_not_end_is_refused(folder):
    (folder / "manifest.json").unlink()
    assert refusal(folder) == f"{folder} is not a whole backup: manifest.json is missing"


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    assert "is not a whole backup" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize("name", [DATABASE, PICTURE])
def test_a_file_that_is_missing_is_named(folder, name):
    (folder / name).unlink()
    assert refusal(folder) == f"{folder / name} is missing from the backup"


def test_a_picture_that_is_not_in_the_manifest_is_named(folder):
    (folder / "media" / "pictures" / "stray.png").touch()
    assert "stray.png is not in the manifest" in refusal(folder)


def test_what_an_operator_keeps_beside_it_is_left_alone(folder):
    (folder / "database.dump").touch()
    manifest.verify(folder, manifest.read(folder))


@pytest.mark.parametrize("name", ["../x", "media/../../x", "/etc/passwd", "media", "x.sqlite3"])
def test_a_path_that_leads_elsewhere_is_refused(folder, name):
    write(folder, more={name: Entry(0, "")})
    assert "cannot be part of a backup" in refusal(folder)


def test_a_database_that_was_malformed_when_it_was_copied_is_refused(folder):
    content = bytearray((folder / DATABASE).read_bytes())
    content[4096:8192] = bytes(4096)
    (folder / DATABASE).write_bytes(content)
    write(folder)
    assert "is malformed" in refusal(folder)


def test_a_reference_to_nothing_is_refused(folder):
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        database.execute("INSERT INTO child VALUES (1)")
        database.commit()
    write(folder)
    assert "refers to a row that does not exist" in refusal(folder)


def test_a_backup_of_a_newer_version_is_refused(folder):
    write(folder, migrations=["jobs.0001_jobs", "jobs.9999_to_come"])
    assert "whose database has jobs.9999_to_come: install that version" in refusal(folder)


def test_a_backup_from_before_the_migrations_were_squashed_is_taken(folder):
    write(folder, migrations=["jobs.0001_jobs", "jobs.0016_unread_results"])
    restore._refuse_unusable(folder / DATABASE, manifest.read(folder))


def test_the_wal_of_another_database_beside_the_backup_is_not_read(folder):
    (folder / f"{DATABASE}-wal").write_bytes(b"whatever")
    restore._refuse_unusable(folder / DATABASE, manifest.read(folder))
