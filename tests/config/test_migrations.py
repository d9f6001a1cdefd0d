"""Migrations and models agree, and a history that stopped between two of the squashed ones is
refused."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from django.core.management import call_command
from django.db.migrations.loader import MigrationLoader

from config.db.migration_history import describe_partial_history, known_migrations
from jobs.ops import readiness
from tests.site_process import ROOT, Site

APPS = ("jobs", "providers", "quotas")


def replaced_by(app: str) -> list[tuple[str, str]]:
    return MigrationLoader(None).disk_migrations[app, "0001_initial"].replaces


def stop_before_the_last(path, app: str) -> str:
    """The history of an older commit in the database at `path`; returns the missing migration."""
    *applied, missing = replaced_by(app)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM django_migrations WHERE app = ?", [app])
        database.executemany(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-11-30')",
            applied,
        )
        database.commit()
    return ".".join(missing)


@pytest.mark.django_db
def test_models_have_no_change_without_a_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("app", APPS)
class TestHistory:
    def test_all_or_none_of_the_replaced_ones_is_fine(self, app):
        assert describe_partial_history([]) is None
        assert describe_partial_history(replaced_by(app)) is None

    def test_each_part_of_them_is_not(self, app):
        names = replaced_by(app)
        for count in range(1, len(names)):
            assert ".".join(names[-1]) in describe_partial_history(names[:count])

    def test_they_are_known_to_a_restore(self, app):
        assert {*replaced_by(app), (app, "0001_initial")} <= known_migrations()


@pytest.mark.parametrize("app", APPS)
def test_migrate_refuses_a_part_in_one_line(sqlite_database, tmp_path, app):
    missing = stop_before_the_last(sqlite_database.url.removeprefix("sqlite:///"), app)
    ended = subprocess.run(
        [sys.executable, "manage.py", "migrate"],
        cwd=ROOT,
        env=sqlite_database.environment(tmp_path / "data"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1
    assert (
        f"counterfoil.E020) the database was written by an older commit and has no {missing}: "
        in (ended.stderr)
    )
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("app", APPS)
def test_up_refuses_a_part_in_one_line(migrated_sqlite, tmp_path, app):
    site = Site(tmp_path)
    (tmp_path / "data").mkdir(mode=0o700)
    path = tmp_path / "data" / "counterfoil.sqlite3"
    path.write_bytes(migrated_sqlite.read_bytes())
    missing = stop_before_the_last(path, app)
    ended = site.run("up")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("counterfoil: ")
    assert (
        f"cannot be migrated: the database was written by an older commit and has no {missing}"
        in (ended.stderr.splitlines()[-1])
    )


@pytest.mark.django_db
@pytest.mark.parametrize("app", APPS)
def test_a_part_is_not_ready(monkeypatch, app):
    recorded = MigrationLoader(None).disk_migrations.keys() - {(app, "0001_initial")}
    applied = dict.fromkeys([*recorded, *replaced_by(app)[:-1]])
    monkeypatch.setattr(
        "django.db.migrations.recorder.MigrationRecorder.applied_migrations", lambda _: applied
    )
    monkeypatch.setattr(readiness, "_migrated", readiness.threading.Event())
    assert not readiness._is_migrated()
