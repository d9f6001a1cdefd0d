"""A restore by the command, on a data folder of its own: what it refuses, what a kill leaves."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from config.backup import restore
from config.supervisor.records import Records
from jobs.core.faultpoints import RESTORE_POINTS
from jobs.database.file import mark_start
from quotas.models import AlertKind
from tests.site_process import ROOT, Site

NAME = "counterfoil.sqlite3"
INSERT = (
    "INSERT INTO quotas_alert"
    " (kind, subject, words, opened_at, seen_at, mail_tries, post_tries)"
    f" VALUES ('{AlertKind.SMOKE.value}', ?, 'words', '2026-03-14', '2026-03-14', 0, 0)"
)
COMMIT_AND_DIE = f"""
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode=WAL")
database.execute({INSERT!r}, ["2"])
os._exit(0)
"""


class Folder(Site):
    """A site that does not run: 1 picture in its backup, and 2 where `grow` was called since."""

    @property
    def data(self) -> Path:
        return Path(self.settings["DATA_DIR"])

    @property
    def database(self) -> Path:
        return self.data / NAME

    def add_picture(self, number: int) -> None:
        file = self.data / "media" / "pictures" / "00" / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"picture %d" % number)
        with closing(sqlite3.connect(self.database)) as database:
            database.execute(INSERT, [str(number)])
            database.commit()

    def state(self) -> tuple[int, int]:
        """How many rows a picture has left, and how often the database was restored. The side
        files are not read."""
        with closing(sqlite3.connect(f"file:{self.database}?immutable=1", uri=True)) as database:
            count = "SELECT (SELECT count(*) FROM quotas_alert),"
            return database.execute(f"{count} (SELECT count(*) FROM providers_restore)").fetchone()

    def fail(self, *arguments: str) -> str:
        ended = self.run(*arguments)
        assert ended.returncode == 1
        [line] = ended.stderr.strip().splitlines()
        return line


OLD, NEW = (2, 0), (1, 1)


@pytest.fixture(scope="module")
def original(migrated_sqlite, tmp_path_factory) -> Folder:
    """With a backup next to it."""
    site = Folder(tmp_path_factory.mktemp("original"), SECRET_KEY="")
    site.data.mkdir()
    shutil.copy(migrated_sqlite, site.database)
    site.add_picture(1)
    made = site.run("backup", str(site.folder / "backup"))
    assert made.returncode == 0, made.stderr
    return site


@pytest.fixture
def site(original, tmp_path) -> Folder:
    """Its own copy, with a picture more than the backup, killed before its last commit was carried
    from the `-wal` into the file."""
    shutil.copytree(original.folder, tmp_path, dirs_exist_ok=True)
    site = Folder(tmp_path, SECRET_KEY="")
    mark_start(site.database)
    subprocess.run([sys.executable, "-c", COMMIT_AND_DIE, str(site.database)], check=True)
    (site.data / "media/pictures/00/2.png").write_bytes(b"picture 2")
    assert site.state() == (1, 0), "the last commit is not beside the file"
    return site


@pytest.fixture
def backup(site) -> str:
    return str(site.folder / "backup")


def test_the_backup_takes_the_place_of_the_database(site, backup):
    (site.data / "media/pictures/00/1.png").unlink()
    restored = site.run("restore", backup, "--replace")
    assert restored.returncode == 0, restored.stderr
    assert site.state() == NEW
    assert not list(site.data.glob(f"{NAME}-*"))
    assert {file.name for file in site.data.rglob("*.png")} == {"1.png", "2.png"}


def test_the_old_database_is_kept_aside_with_its_last_commits(site, backup):
    assert site.run("restore", backup, "--replace").returncode == 0
    [aside] = site.data.glob(f"{NAME}.before-*")
    aside.rename(site.database)
    assert site.state() == OLD


@pytest.mark.parametrize("damage", [b"", b"not a database" * 99], ids=["empty", "no database"])
def test_a_damaged_database_is_replaced_and_kept_with_what_lies_beside_it(site, backup, damage):
    site.database.write_bytes(damage)
    assert site.run("restore", backup, "--replace").returncode == 0
    assert site.state() == NEW
    assert {file.suffix for file in site.data.glob(f"{NAME}.before-*-wal")}


def test_a_database_beside_the_wal_of_another_is_replaced(site, backup):
    shutil.copy(Path(backup) / NAME, site.database)
    assert site.run("restore", backup, "--replace").returncode == 0
    assert site.state() == NEW


def test_a_second_restore_undoes_what_happened_since_the_first_without_up(site, backup):
    assert site.run("restore", backup, "--replace").returncode == 0
    assert site.run("audit").returncode == 0
    site.add_picture(3)
    assert site.run("restore", backup, "--replace").returncode == 0
    assert site.state() == NEW


def test_a_new_folder_gets_the_key_of_the_backup(site, backup, tmp_path):
    new = Folder(tmp_path, SECRET_KEY="", DATA_DIR=str(tmp_path / "new"))
    assert new.run("restore", backup).returncode == 0
    key = (new.data / "secret_key").read_bytes()
    assert key == (site.data / "secret_key").read_bytes()
    assert new.run("audit", "--deep").returncode == 0


def test_a_key_that_is_a_setting_stays_and_is_said_to_differ(site, backup):
    site.settings["SECRET_KEY"] = "k" * 50
    restored = site.run("restore", backup, "--replace")
    assert "warning: SECRET_KEY is not the one of the backup" in restored.stdout


class TestRefused:
    """Each in one line, with the old database as it was."""

    @pytest.fixture(autouse=True)
    def nothing_changed(self, site):
        yield
        assert state_with_wal(site) == OLD
        assert not list(site.data.glob("*.restoring*"))

    def test_a_database_that_nobody_said_to_replace(self, site, backup):
        assert "with --replace it is kept aside" in site.fail("restore", backup)

    def test_an_option_of_postgresql(self, site, backup):
        assert "is for PostgreSQL" in site.fail("restore", backup, "--database-restored")

    def test_a_site_that_runs(self, site, backup):
        assert Records(site.data).claim()
        assert "is in use" in site.fail("restore", backup, "--replace")

    def test_another_process_on_the_database(self, site, backup):
        with closing(sqlite3.connect(site.database)) as other:
            other.execute("SELECT * FROM quotas_alert").fetchall()
            line = site.fail("restore", backup, "--replace")
        assert "in use by another process" in line

    def test_a_damaged_backup(self, site, backup):
        with open(Path(backup) / NAME, "r+b") as file:
            file.seek(5000)
            file.write(b"x")
        assert "is damaged" in site.fail("restore", backup, "--replace")

    def test_a_lock_that_cannot_be_written(self, site, backup):
        (site.data / "up.lock").mkdir()
        assert str(site.data / "up.lock") in site.fail("restore", backup, "--replace")

    def test_a_disk_that_is_full(self, site, backup):
        """No file may grow beyond 200 KB."""
        command = f"ulimit -f 200; exec {sys.executable} manage.py restore {backup} --replace"
        ended = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=site.env, capture_output=True, text=True
        )
        assert ended.returncode == 1
        assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr


class TestKilled:
    @pytest.mark.parametrize("point", RESTORE_POINTS)
    def test_the_old_database_or_the_new_one_is_in_place(self, site, backup, point):
        armed = site.folder / "armed"
        armed.write_text(f"{point}:kill")
        site.settings["COUNTERFOIL_FAULTPOINT_FILE"] = str(armed)
        assert site.run("restore", backup, "--replace").returncode == -9
        assert {state_with_wal(site)} <= {OLD, NEW}
        again = site.run("restore", backup, "--replace")
        assert again.returncode == 0, again.stderr
        assert site.state() == NEW
        assert not list(site.data.glob("*.restoring*"))


def state_with_wal(site: Folder) -> tuple[int, int]:
    """As SQLite would read it: on a copy, so that the original stays as it is."""
    copy = Folder(site.folder, DATA_DIR=str(site.folder / "copy"))
    shutil.copytree(site.data, copy.data)
    with closing(sqlite3.connect(copy.database)) as database:
        database.execute("PRAGMA journal_mode=DELETE")
    return copy.state()


def test_a_run_that_was_killed_in_the_same_second_keeps_its_file(tmp_path, monkeypatch, now):
    monkeypatch.setattr(restore.timezone, "now", lambda: now)
    target = tmp_path / "counterfoil.sqlite3"
    taken = ["counterfoil.sqlite3.before-20260314T120000Z", "…-2-wal"]
    for name in taken:
        (tmp_path / name.replace("…", taken[0])).touch()
    assert restore._free_name(target).name == f"{taken[0]}-3"
