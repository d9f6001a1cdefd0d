"""Machines are told whether the process lives, and by name what a site lacks for its work."""

import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import psycopg
import pytest
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.migrations.executor import MigrationExecutor

from jobs.core.models import Heartbeat
from jobs.files import storing
from jobs.ops import readiness

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "fresh")]

NAMES = ("database", "writes", "migrations", "storage", "ticker", "workers")


@pytest.fixture
def fresh():
    readiness.readiness.forget()


@pytest.fixture
def broken(monkeypatch):
    """broken(name, error) has the check of one need raise."""

    def break_(name: str, error: Exception) -> None:
        def fail() -> bool:
            raise error

        needs = [
            replace(need, holds=fail) if need.name == name else need for need in readiness.NEEDS
        ]
        monkeypatch.setattr(readiness, "NEEDS", needs)

    return break_


def test_all_that_is_needed_is_there(client, alive):
    alive()
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {"ready": True, **dict.fromkeys(NAMES, True), "missing": []}


def test_site_that_stands_still_is_not_ready(client):
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["missing"] == [
        "The ticker is not responding.",
        "The workers are not responding.",
    ]
    assert {name for name in NAMES if not response.json()[name]} == {"ticker", "workers"}


def test_migrations_are_looked_at_until_they_are_complete(client, alive, monkeypatch):
    alive()
    monkeypatch.setattr(readiness, "_migrated", threading.Event())
    monkeypatch.setattr(readiness, "LOOK_EVERY", 0)
    plans = [["0002"], [], ["never asked for"]]
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: plans.pop(0))
    told = [client.get("/readyz").json()["migrations"] for _ in range(4)]
    assert (told, plans) == ([False, True, True, True], [["never asked for"]])


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
@pytest.mark.parametrize("name", ["database", "writes"])
def test_database_that_cannot_be_used_is_missing(client, alive, broken, name, error):
    alive()
    broken(name, error("secret-host:5432"))
    response = client.get("/readyz")
    assert (response.status_code, response.json()[name]) == (503, False)
    assert "secret-host" not in response.content.decode()


def test_a_malformed_database_is_called_malformed(client, alive, broken):
    alive()
    error = DatabaseError("database disk image is malformed")
    error.__cause__ = sqlite3.DatabaseError()
    error.__cause__.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    broken("writes", error)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["missing"][0].startswith("The database is damaged")


def test_nothing_more_is_asked_of_a_database_that_is_away(broken, monkeypatch):
    broken("database", OperationalError())
    monkeypatch.setattr(readiness, "_takes_writes", lambda: pytest.fail("was tried"))
    found = readiness.find_all()
    assert [name for name, holds in found.items() if holds] == ["storage"]


def test_a_disk_without_room_for_a_picture_is_missing(client, alive, monkeypatch):
    alive()
    full = SimpleNamespace(f_bavail=1, f_frsize=4096)
    monkeypatch.setattr(storing.os, "fstatvfs", lambda _: full)
    missing = client.get("/readyz").json()["missing"]
    assert missing == ["DATA_DIR is full or not writable, so pictures cannot be saved."]


def test_a_media_folder_that_cannot_be_written_is_missing(client, alive, media):
    alive()
    media.write_text("in the place of the folder")
    assert client.get("/readyz").json()["storage"] is False


def test_the_try_leaves_nothing_behind(client, alive, media):
    alive()
    client.get("/readyz")
    assert set(Heartbeat.objects.values_list("name", flat=True)) == {"ticker", "worker"}
    assert list(media.iterdir()) == []


def test_a_crowd_of_probes_costs_one_look(monkeypatch):
    looks = []
    monkeypatch.setattr(readiness, "find_all", lambda: looks.append(time.sleep(0.05)) or {})
    look = readiness.Readiness().look
    with ThreadPoolExecutor(8) as crowd:
        assert list(crowd.map(lambda _: look(), range(50))) == [{}] * 50
    assert len(looks) == 1


@pytest.fixture
def locked_database(each_database):
    """Another connection blocks every write."""
    if each_database.vendor == "sqlite":
        file = each_database.url.removeprefix("sqlite:///")
        holder, lock = sqlite3.connect(file, isolation_level=None), "BEGIN IMMEDIATE"
    else:
        holder, lock = psycopg.connect(each_database.url), "LOCK TABLE jobs_heartbeat"
    with closing(holder):
        holder.execute(lock)
        yield each_database


def test_a_lock_is_not_waited_for_long(locked_database, tmp_path):
    code = """
import django, time; django.setup()
from jobs.ops import readiness
began = time.monotonic()
print(readiness.find_all()["writes"], time.monotonic() - began < 8)
"""
    environment = locked_database.environment(tmp_path)
    told = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert told.split() == ["False", "True"]


def test_process_answers_without_its_database(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get("/healthz").json()["status"] == "ok"


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_nothing_of_it_is_kept_or_changed(client, alive, address):
    alive()
    assert "no-store" in client.get(address)["Cache-Control"]
    assert client.head(address).status_code == 200
    assert client.post(address).status_code == 405
