"""An older copy of the database is put beside the `-wal` file of a site that was killed."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from jobs.database.file import mark_start
from tests.site_orders import Desk
from tests.site_process import ROOT, Site

START = """
import django
django.setup()
from django.conf import settings
from config.supervisor import preflight
from config.supervisor.records import Records
was_replaced = preflight.check_database_file(Records(settings.DATA_DIR))
preflight.take_over_database(was_replaced=was_replaced)
"""


@pytest.fixture
def site(migrated_sqlite, tmp_path):
    """Its last start has ended; orders are taken by a process of the test."""
    site = Site(tmp_path)
    database_file(site).parent.mkdir()
    shutil.copy(migrated_sqlite, database_file(site))
    mark_start(database_file(site))
    return site


@pytest.fixture
def desk(site):
    desk = Desk(site.env)
    yield desk
    desk.close()


def database_file(site: Site) -> Path:
    return Path(site.settings["DATA_DIR"]) / "counterfoil.sqlite3"


def copy_database(site: Site) -> Path:
    """By the command line that SQLite's own manual gives."""
    copy = site.folder / "copy.sqlite3"
    with (
        closing(sqlite3.connect(database_file(site))) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    return copy


def kill_and_copy_over(site: Site, desk: Desk, copy: Path) -> None:
    desk.close()
    assert database_file(site).with_name("counterfoil.sqlite3-wal").stat().st_size > 0
    shutil.copy(copy, database_file(site))


def find_jobs(file: Path) -> int:
    """Read without the side files."""
    with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as database:
        return database.execute("SELECT count(*) FROM jobs_job").fetchone()[0]


@pytest.mark.parametrize(("more", "length"), [(6, 10), (60, 10_000)], ids=["undone", "malformed"])
def test_a_site_does_not_start_beside_the_wal_of_another_database(site, desk, more, length):
    desk.ask("place", "a", "b", "c")
    copy = copy_database(site)
    desk.ask("place_long", str(more), str(length))
    kill_and_copy_over(site, desk, copy)
    assert site.run("audit", "--deep").returncode == 2
    started = site.run("up", seconds=60)
    assert started.returncode == 1
    assert len(started.stderr.strip().splitlines()) == 1
    assert "counterfoil.sqlite3-wal" in started.stderr
    assert find_jobs(database_file(site)) == 3


def test_a_copy_without_that_wal_is_treated_as_restored(site, desk):
    [queued] = desk.ask("place", "a").values()
    copy = copy_database(site)
    kill_and_copy_over(site, desk, copy)
    for suffix in ("-wal", "-shm"):
        database_file(site).with_name(f"counterfoil.sqlite3{suffix}").unlink()
    started = subprocess.run(
        [sys.executable, "-c", START], cwd=ROOT, env=site.env, capture_output=True, text=True
    )
    assert "is treated as restored from a backup: 1 queued jobs were cancelled" in started.stderr
    assert desk.ask("report")[queued]["state"] == "cancelled"
