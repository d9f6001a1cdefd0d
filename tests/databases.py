"""Databases of their own for tests that need real ones: made, migrated, copied and dropped here.

The suite's default database does not matter to them: a child process gets the address of its
copy as DATABASE_URL.
"""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Database:
    vendor: str
    url: str

    def environment(self, data_dir: Path) -> dict[str, str]:
        """What a child process needs to run the product on this database and nothing else."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {
            **inherited,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": self.url,
            "DATA_DIR": str(data_dir),
            "SECRET_KEY": "only-for-the-tests-" + "x" * 40,
            "PYTHONPATH": str(ROOT),
            # Set, though empty: a developer's own .env must not reach the tests.
            "REDIS_URL": "",
            "POLZA_API_KEY": "",
            "PUBLIC_URL": "",
            "EMAIL_HOST": "",
            "ALERT_EMAILS": "",
            "ALERT_URL": "",
            # All who come in a test or a bench come from this machine.
            "NEW_VISITORS_A_DAY": "100000",
        }


def migrate(database: Database, data_dir: Path) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env=database.environment(data_dir),
        check=True,
        timeout=300,
    )


def copy_sqlite(template: Path, folder: Path) -> Database:
    path = folder / f"{secrets.token_hex(4)}.sqlite3"
    shutil.copy(template, path)
    return Database("sqlite", f"sqlite:///{path}")


@contextmanager
def postgres_copy(server_url: str, template: Database | None = None) -> Iterator[Database]:
    """A new database beside the one of `server_url`, dropped at the end whoever still holds it:
    empty, or a copy of a migrated one that is connected to by nothing."""
    name = f"counterfoil_test_{os.getpid()}_{secrets.token_hex(4)}"
    original = template.url.rpartition("/")[2] if template else "template1"
    _execute(server_url, "CREATE DATABASE {} TEMPLATE {}", name, original)
    try:
        database = Database("postgresql", server_url.rpartition("/")[0] + f"/{name}")
        if template:
            _give_new_name(database)
        yield database
    finally:
        _execute(server_url, "DROP DATABASE {} WITH (FORCE)", name)


def _give_new_name(database: Database) -> None:
    """The migration names the database, and no two sites have one name."""
    with closing(psycopg.connect(database.url, autocommit=True)) as connection:
        connection.execute("UPDATE quotas_site SET name = %s", [secrets.token_hex(16)])


def _execute(server_url: str, statement: str, *names: str) -> None:
    with closing(psycopg.connect(server_url, autocommit=True)) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
