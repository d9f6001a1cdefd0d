"""A backup by the command: what it holds, what it refuses, and what it tolerates."""

import json
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from config.backup import make, manifest
from config.backup.manifest import Manifest
from tests.site_process import ROOT, Site

NAME = "counterfoil.sqlite3"


@pytest.fixture
def site(migrated_sqlite, tmp_path) -> Site:
    """It does not run; it has a picture, its small one, and a draft."""
    site = Site(tmp_path, SECRET_KEY="")
    for file in ("pictures/00/a.png", "pictures/00/.draft", "thumbnails/00/a.webp"):
        path = tmp_path / "data" / "media" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"content of a file")
    shutil.copy(migrated_sqlite, tmp_path / "data" / NAME)
    return site


def back_up(site: Site, name: str = "backup") -> Path:
    made = site.run("backup", str(site.folder / name))
    assert made.returncode == 0, made.stderr
    return site.folder / name


def refusal(site: Site, path: Path) -> str:
    ended = site.run("backup", str(path))
    assert ended.returncode == 1
    [line] = ended.stderr.strip().splitlines()
    return line


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (folder, *folder.rglob("*"))}


def test_it_holds_database_pictures_and_key_for_its_owner_alone(site):
    backup = back_up(site)
    files = {str(file.relative_to(backup)) for file in backup.rglob("*") if file.is_file()}
    assert files == {NAME, "secret_key", "manifest.json", "media/pictures/00/a.png"}
    assert modes(backup) == {0}
    manifest.verify(backup, manifest.read(backup))


def test_there_is_no_backup_of_a_site_that_is_not_there(tmp_path):
    nothing = Site(tmp_path, SECRET_KEY="")
    assert "there is no database at" in refusal(nothing, tmp_path / "backup")
    (tmp_path / "data" / NAME).touch()
    assert "is empty" in refusal(nothing, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_commits_that_are_still_beside_the_file_are_in_it(site):
    with closing(sqlite3.connect(site.folder / "data" / NAME)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("INSERT INTO quotas_plan (name) VALUES ('newest')")
        database.commit()
        backup = back_up(site)
    with closing(sqlite3.connect(f"file:{backup / NAME}?immutable=1", uri=True)) as copy:
        plans = copy.execute("SELECT count(*) FROM quotas_plan WHERE name = 'newest'")
        assert plans.fetchone() == (1,)


def test_a_key_that_is_a_setting_is_not_in_it(site):
    site.settings["SECRET_KEY"] = "k" * 50
    backup = back_up(site)
    assert not (backup / "secret_key").exists()
    assert manifest.read(backup).secret_key == "environment"
    assert "kkkk" not in (backup / "manifest.json").read_text()


def test_a_link_to_an_empty_folder_is_followed(site):
    (site.folder / "real").mkdir()
    (site.folder / "link").symlink_to("real")
    back_up(site, "link")
    assert (site.folder / "real" / "manifest.json").is_file()


@pytest.mark.parametrize("path", ["data/media/backup", "data", "in/data", "full", "file"])
def test_a_folder_that_is_not_its_own_is_refused(site, path):
    (site.folder / "full").mkdir()
    (site.folder / "full" / "something").touch()
    (site.folder / "file").touch()
    (site.folder / "in").symlink_to(site.folder)
    line = refusal(site, site.folder / path)
    assert (
        "choose a folder outside it" in line or "is not empty" in line or "is not a folder" in line
    )


def test_a_malformed_database_makes_no_backup(site):
    with open(site.folder / "data" / NAME, "r+b") as file:
        file.seek(4096 * 20)
        file.write(bytes(4096 * 3))
    assert "malformed" in refusal(site, site.folder / "backup")
    assert not (site.folder / "backup" / "manifest.json").exists()


def test_a_full_disk_is_one_line_and_leaves_no_manifest(site):
    """No file may grow beyond 200 KB."""
    path = site.folder / "backup"
    command = f"ulimit -f 200; exec {sys.executable} manage.py backup {path}"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=site.env, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not (path / "manifest.json").exists()


def test_a_file_that_is_deleted_meanwhile_is_noted(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path / "media"
    (tmp_path / "media").mkdir()
    for name in ("a.png", "b.png"):
        (tmp_path / "media" / name).touch()
    copy_file = make.copy_file

    def copy(source, target):
        (tmp_path / "media" / "b.png").unlink(missing_ok=True)
        return copy_file(source, target)

    monkeypatch.setattr(make, "copy_file", copy)
    (tmp_path / "backup").mkdir()
    found = Manifest("", "", "", [], "", "")
    make._copy_media(tmp_path / "backup", found)
    assert (list(found.files), found.vanished) == (["media/a.png"], ["media/b.png"])


def test_the_manifest_is_json_that_others_can_read(site):
    content = json.loads((back_up(site) / "manifest.json").read_text())
    assert content["format"] == 1
    assert content["files"]["media/pictures/00/a.png"]["size"] == len(b"content of a file")
    assert "providers.0001_initial" in content["migrations"]
