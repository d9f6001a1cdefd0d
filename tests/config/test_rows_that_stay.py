"""A database whose old calls and events had become sums: what its migration keeps and refuses."""

import subprocess
import sys

from tests import databases
from tests.databases import Database
from tests.quotas.test_contention import read_rows

INSERT_DAY = """
from datetime import date
from django.db import connection
sql = ("INSERT INTO providers_callday (provider, model, day, currency, rejected, failed, given_up,"
       " cost, cost_estimate, possibly_charged, given_up_unpriced)"
       " VALUES ('sandbox', 'm', %s, 'RUB', 1, 0, 0, %s, 0, 0, 0)")
with connection.cursor() as cursor:
    cursor.execute(sql, [date(2026, 3, 14), COST])
"""
INSERT_EVENTS = """
from django.utils import timezone
from jobs.core.models import Event, Job
from quotas import accounts
now = timezone.now()
account = accounts.ensure_saved(accounts.account_named(accounts.OPERATOR), now=now)
job = Job.objects.create(account=account, kind="image", params={}, form_key="f", state="failed",
                         reason="provider", created_at=now, changed_at=now, ended_at=now, version=7)
for name, facts in (("reserved", {}), ("tidied", {"events": 4}), ("failed", {})):
    Event.objects.create(job=job, name=name, facts=facts, at=now)
"""


def manage(database: Database, folder, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=databases.ROOT,
        env=database.environment(folder / "data"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def go_back(database: Database, folder) -> None:
    for app, before in (("providers", "0001"), ("jobs", "0002")):
        assert manage(database, folder, "migrate", app, before).returncode == 0


def test_a_day_with_money_is_refused_and_named(each_database, tmp_path):
    go_back(each_database, tmp_path)
    with_cost = INSERT_DAY.replace("COST", "'5.0000'")
    assert manage(each_database, tmp_path, "shell", "-v0", "-c", with_cost).returncode == 0
    refused = manage(each_database, tmp_path, "migrate")
    assert refused.returncode != 0
    assert "2026-03-14 sandbox:m cost 5.0000" in refused.stderr
    assert read_rows(each_database, "SELECT rejected FROM providers_callday") == [(1,)]


def test_days_without_money_go(each_database, tmp_path):
    go_back(each_database, tmp_path)
    free = INSERT_DAY.replace("COST", "0")
    assert manage(each_database, tmp_path, "shell", "-v0", "-c", free).returncode == 0
    done = manage(each_database, tmp_path, "migrate")
    assert done.returncode == 0, done.stderr


def test_an_event_that_stood_for_others_goes_with_their_number(each_database, tmp_path):
    go_back(each_database, tmp_path)
    done = manage(each_database, tmp_path, "shell", "-v0", "-c", INSERT_EVENTS)
    assert done.returncode == 0, done.stderr
    assert manage(each_database, tmp_path, "migrate").returncode == 0
    assert read_rows(each_database, "SELECT version FROM jobs_job") == [(7 - 4,)]
    names = read_rows(each_database, "SELECT name FROM jobs_event ORDER BY id")
    assert names == [("reserved",), ("failed",)]
