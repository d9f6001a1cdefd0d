"""A database that cannot be right is refused at the start in one line, and what a role or a
database sets by default does not reach the sessions of the site."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.db import inspection
from tests.databases import ROOT, Database, migrate
from tests.postgres_server import Server, encoded_database
from tests.site_process import free_port
from tests.web_orders import order
from tests.web_process import web_process

PORTS = ("PORT", "SANDBOX_PORT")
SETUP = "import django; django.setup(); from django.db import connection, transaction\n"
# What would break the site, or lose the row of a paid call in a crash.
DEFAULTS = {
    "default_transaction_isolation": ("serializable", "read committed"),
    "default_transaction_deferrable": ("on", "off"),
    "statement_timeout": ("1ms", "0"),
    "lock_timeout": ("1ms", "0"),
    "idle_in_transaction_session_timeout": ("1ms", "0"),
    "datestyle": ("German", "ISO, MDY"),
    "intervalstyle": ("iso_8601", "postgres"),
    "standard_conforming_strings": ("off", "on"),
    "synchronous_commit": ("off", "on"),
    "timezone": ("Asia/Kathmandu", "UTC"),
    "client_encoding": ("LATIN1", "UTF8"),
}


def run(database: Database, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=database.environment(folder) | {name: str(free_port()) for name in PORTS},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("encoding", "command"),
    [("LATIN1", "up"), ("SQL_ASCII", "up"), ("WIN1251", "migrate"), ("EUC_JP", "migrate")],
)
def test_an_encoding_other_than_utf8_is_refused(postgres_url, tmp_path, encoding, command):
    with encoded_database(postgres_url, encoding) as database:
        ended = run(database, tmp_path, "manage.py", command)
    assert ended.returncode == 1
    assert f"the encoding of the database is {encoding}, but must be UTF8" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert command != "up" or len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_sqlite_file_in_utf16_holds_every_text(tmp_path, encoding):
    file = tmp_path / "wide.sqlite3"
    with sqlite3.connect(file) as made:
        made.execute(f'PRAGMA encoding = "{encoding}"')
        made.execute("CREATE TABLE t (x)")
    database = Database("sqlite", f"sqlite:///{file}")
    migrate(database, tmp_path)
    code = """
from django.contrib.auth.models import User
User.objects.create_user("Лиса 🦊")
print(User.objects.get().username, connection.cursor().execute("PRAGMA encoding").fetchone()[0])
"""
    ended = run(database, tmp_path, "-X", "utf8", "-c", SETUP + code)
    assert ended.stdout.split() == ["Лиса", "🦊", encoding], ended.stderr


def test_a_sqlite_that_is_too_old_is_refused(monkeypatch):
    monkeypatch.setattr(inspection, "connection", type("Sqlite", (), {"vendor": "sqlite"}))
    monkeypatch.setattr(inspection.sqlite3, "sqlite_version_info", (3, 34, 1))
    [fault] = inspection.find_faults()
    assert fault.startswith("SQLite 3.35.0 or later is required")


@pytest.mark.postgres
def test_no_default_of_the_database_reaches_a_session(postgres_database, tmp_path):
    server = Server(postgres_database.url)
    for parameter, (default, _) in DEFAULTS.items():
        server.set(parameter, default)
    code = f"""
with transaction.atomic(), connection.cursor() as cursor:
    for name in {list(DEFAULTS)}:
        print(name, "is", cursor.execute("SHOW " + name).fetchone()[0])
"""
    shown = run(postgres_database, tmp_path, "-c", SETUP + code).stdout.splitlines()
    assert shown == [f"{name} is {ours}" for name, (_, ours) in DEFAULTS.items()]


@pytest.mark.postgres
def test_a_stronger_durability_than_ours_is_kept(postgres_database, tmp_path):
    Server(postgres_database.url).set("synchronous_commit", "remote_apply")
    code = "print(connection.cursor().execute('SHOW synchronous_commit').fetchone()[0])"
    shown = run(postgres_database, tmp_path, "-c", SETUP + code).stdout.strip()
    assert shown == "remote_apply"


@pytest.mark.postgres
@pytest.mark.site
def test_a_crowd_of_orders_is_taken_where_serializable_is_the_default(postgres_database, tmp_path):
    Server(postgres_database.url).set("default_transaction_isolation", "serializable")
    with web_process(postgres_database, tmp_path) as web, ThreadPoolExecutor(20) as crowd:
        assert set(crowd.map(lambda _: order(web), range(60))) == {303}
