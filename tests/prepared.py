"""What a whole site begins with: a migrated SQLite file and the collected static files, made once
in a process of the tests and copied for each site."""

import atexit
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from tests import databases

NAME = "counterfoil.sqlite3"


def copy_data_folder(target: Path, *, with_database: bool = True) -> None:
    """Make `target` as a site leaves it that was stopped before its first visitor."""
    target.mkdir(mode=0o700, parents=True)
    copy_static(target)
    if with_database:
        copy_database(target / NAME)


def copy_static(data_dir: Path) -> None:
    # The times of the files are kept: collectstatic compares them.
    shutil.copytree(collected_static(), data_dir / "static")


def copy_database(target: Path) -> None:
    shutil.copy(migrated_file(), target)
    # The migration names the database, and no two sites have one name.
    with closing(sqlite3.connect(target, isolation_level=None)) as database:
        database.execute("UPDATE quotas_site SET name = ?", [secrets.token_hex(16)])


@cache
def migrated_file() -> Path:
    folder = _temporary_folder()
    databases.migrate(databases.Database("sqlite", ""), folder)
    return folder / NAME


@cache
def collected_static() -> Path:
    folder = _temporary_folder()
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"],
        cwd=databases.ROOT,
        env=databases.Database("sqlite", "").environment(folder),
        check=True,
        timeout=300,
    )
    return folder / "static"


def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-prepared-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
