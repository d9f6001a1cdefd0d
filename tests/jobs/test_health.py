"""Machines are told whether the process lives, and by name what a site lacks for its work."""

import threading

import pytest
from django.db import InterfaceError, OperationalError
from django.db.migrations.executor import MigrationExecutor

from jobs.views import health

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def test_all_that_is_needed_is_there(client, alive):
    alive()
    response = client.get("/readyz")
    assert response.status_code == 200
    names = ("ready", "database", "migrations", "ticker", "workers")
    assert response.json() == dict.fromkeys(names, True)


def test_site_that_stands_still_is_not_ready(client):
    response = client.get("/readyz")
    assert response.status_code == 503
    missing = {name for name, holds in response.json().items() if not holds}
    assert missing == {"ready", "ticker", "workers"}


def test_migrations_are_looked_at_until_they_are_complete(client, alive, monkeypatch):
    alive()
    monkeypatch.setattr(health, "_migrated", threading.Event())
    plans = [["0002"], [], ["never asked for"]]
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: plans.pop(0))
    told = [client.get("/readyz").json()["migrations"] for _ in range(4)]
    assert (told, plans) == ([False, True, True, True], [["never asked for"]])


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_database_that_cannot_be_asked_is_missing(client, alive, monkeypatch, error):
    def fail() -> bool:
        raise error("secret-host:5432")

    alive()
    monkeypatch.setitem(health.READY, "database", fail)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["database"]) == (503, False)
    assert "secret-host" not in response.content.decode()


def test_process_answers_without_its_database(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get("/healthz").json()["status"] == "ok"


@pytest.mark.parametrize("address", ["/healthz", "/readyz"])
def test_nothing_of_it_is_kept_or_changed(client, alive, address):
    alive()
    assert "no-store" in client.get(address)["Cache-Control"]
    assert client.head(address).status_code == 200
    assert client.post(address).status_code == 405
