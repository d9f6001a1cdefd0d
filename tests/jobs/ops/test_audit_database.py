"""The audit includes the database's own checks, and stops where the database is malformed."""

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, transaction

from jobs.database import integrity
from jobs.ops import audit
from tests.site_process import Site

pytestmark = pytest.mark.django_db


def names(now, *, deep: bool = False) -> set[str]:
    return {violation.check for violation in audit.violations(now, deep=deep)}


NEVER_VALIDATED = "ALTER TABLE auth_user ADD CONSTRAINT never CHECK (id > 0) NOT VALID"
NEVER_FINISHED = """
    CREATE INDEX never ON auth_user (email);
    UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'never'::regclass;
"""


@pytest.mark.postgres
@pytest.mark.parametrize("damage", [NEVER_VALIDATED, NEVER_FINISHED], ids=["check", "index"])
def test_a_rule_that_is_not_valid_is_named(postgres_database, tmp_path, damage):
    with psycopg.connect(postgres_database.url, autocommit=True) as database:
        database.execute(damage)
    ended = Site(tmp_path, DATABASE_URL=postgres_database.url).run("audit")
    assert ended.returncode == 1
    assert "database_rules_are_valid" in ended.stdout
    assert "never" in ended.stdout


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no such question")
def test_a_row_of_django_that_refers_to_none_is_named(staff, now):
    LogEntry.objects.create(user=staff, action_flag=1, object_repr="x")
    with transaction.atomic():
        LogEntry.objects.update(user_id=staff.pk + 1)
        assert names(now) == {"database_references_exist"}
        LogEntry.objects.all().delete()


def test_pages_that_failed_their_checksum_are_damage(now, monkeypatch):
    monkeypatch.setattr(integrity, "failed_checksums", lambda: 2)
    monkeypatch.setattr(integrity, "sqlite_faults", lambda: ["row 7 missing from index call_wall"])
    monkeypatch.setattr(audit.rules, "violations", pytest.fail)
    assert names(now) == {"database_is_whole"}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="of SQLite's file")
@pytest.mark.parametrize("first", [10, 2], ids=["some pages", "most pages"])
def test_the_command_calls_a_malformed_database_malformed(migrated_sqlite, tmp_path, first):
    site = Site(tmp_path)
    file = tmp_path / "data" / "counterfoil.sqlite3"
    file.parent.mkdir()
    pages = migrated_sqlite.read_bytes()
    file.write_bytes(pages[: first * 4096] + bytes(60 * 4096) + pages[(first + 60) * 4096 :])
    ended = site.run("audit")
    assert ended.returncode in (1, 2)
    assert "malformed" in (ended.stdout + ended.stderr)
    assert "Traceback" not in ended.stderr


@pytest.mark.postgres
def test_amcheck_finds_a_row_that_an_index_misses(postgres_database, tmp_path):
    """Only where the server has the extension."""
    with psycopg.connect(postgres_database.url, autocommit=True) as database:
        there = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'"
        if not database.execute(there).fetchone():
            pytest.skip("the server has no amcheck")
        database.execute("CREATE EXTENSION amcheck")
        database.execute("CREATE INDEX few_plans ON quotas_plan (id) WHERE id < 0")
        few = "indexrelid = 'few_plans'::regclass"
        database.execute(f"UPDATE pg_index SET indpred = NULL WHERE {few}")
    site = Site(tmp_path, DATABASE_URL=postgres_database.url)
    assert site.run("audit").returncode == 0
    deep = site.run("audit", "--deep")
    assert deep.returncode == 1
    assert "database_is_whole: postgresql few_plans: " in deep.stdout
