"""The staff's pages over a million attempts and calls and 200,000 jobs: queries and time of each.

Each database is made, filled and dropped here; PostgreSQL where TEST_DATABASE_URL (or the usual
address) answers. Every page is asked for six times in one process, the first not counted: what is
printed is the median and the slowest, and what the process itself worked for a page: on a busy
machine the rest is waiting. The aim is 300 ms.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import django
import psycopg

from tests.bench._size import choose, inherited
from tests.bench.fill import ROWS
from tests.databases import ROOT, Database, migrate, postgres_copy

POSTGRES = "postgres://postgres@127.0.0.1:5432/test"
AIM_MS = 300
TIMES = choose(5, 1)
VENDORS = choose(("sqlite", "postgresql"), ("sqlite",))
PART = "board, a refresh"
PAGES = {
    "first page": "",
    "board": "dashboard/",
    PART: "dashboard/?refresh=15",
    "attempts": "quotas/attempt/",
    "attempts, last page counted": "quotas/attempt/?p=100",
    "attempts on hold": "quotas/attempt/?state__exact=pending",
    "attempts that failed": "quotas/attempt/?state__exact=failed",
    "attempts that succeeded": "quotas/attempt/?state__exact=success",
    "attempts of pictures": "quotas/attempt/?kind__exact=image",
    "attempts of a kind of nobody": "quotas/attempt/?kind__exact=contract",
    "attempts of today": "quotas/attempt/?on=today",
    "attempts of yesterday": "quotas/attempt/?on=yesterday",
    "attempts of a week": "quotas/attempt/?on=week",
    "attempts on hold of today": "quotas/attempt/?state__exact=pending&on=today",
    "attempts of an account": "quotas/attempt/?account__id__exact=401",
    "an account's that failed": "quotas/attempt/?account__id__exact=401&state__exact=failed",
    "calls": "providers/call/",
    "calls, last page counted": "providers/call/?p=100",
    "calls in doubt": "providers/call/?in_doubt=yes",
    "calls in doubt of a provider": "providers/call/?in_doubt=yes&provider=polza",
    "calls rejected": "providers/call/?state__exact=rejected",
    "calls rejected by a provider": "providers/call/?state__exact=rejected&provider=polza",
    "calls given up": "providers/call/?state__exact=given_up",
    "calls that succeeded": "providers/call/?state__exact=succeeded",
    "a provider's that succeeded": "providers/call/?state__exact=succeeded&provider=polza",
    "calls of a provider": "providers/call/?provider=polza",
    "calls by reason": "providers/call/?why=deadline",
    "calls by a reason of nobody": "providers/call/?why=balance",
    "a provider's by reason": "providers/call/?why=deadline&provider=polza",
    "calls by reference": "providers/call/?q=gen_500",
    "jobs": "jobs/job/",
    "jobs in doubt": "jobs/job/?state__exact=in_doubt",
    "jobs failed": "jobs/job/?state__exact=failed",
    "jobs ready": "jobs/job/?state__exact=ready",
    "jobs of a kind": "jobs/job/?kind=image",
    "jobs of a kind of nobody": "jobs/job/?kind=contract",
    "jobs set aside": "jobs/job/?aside=yes",
    "jobs of an account": "jobs/job/?q=401",
    "an account's jobs that failed": "jobs/job/?q=401&state__exact=failed",
    "accounts": "quotas/account/",
    "accounts by name": "quotas/account/?q=visitor-19",
    "accounts of a plan": "quotas/account/?plan__id__exact=2",
    "accounts that are closed": "quotas/account/?closed_at__isempty=0",
    "alerts": "quotas/alert/",
    "alerts open": "quotas/alert/?is=open",
    "grants": "quotas/grant/",
    "grants of today": "quotas/grant/?on=today",
    "decisions of staff": "jobs/staffaction/",
    "smoke tests": "providers/smoketest/",
    "gates": "providers/gate/",
    "plans": "quotas/plan/",
    "people": "auth/user/",
    "failed tasks": "django_q/failure/",
    "an attempt": "quotas/attempt/401/change/",
    "an account": "quotas/account/401/change/",
    "a call": "providers/call/401/change/",
}


def main() -> None:
    rows = int(os.environ.get("ROWS") or choose(ROWS, 5000))
    with tempfile.TemporaryDirectory() as folder:
        report(Database("sqlite", f"sqlite:///{folder}/admin.sqlite3"), Path(folder), rows)
        if "postgresql" not in VENDORS:
            return
        server = os.environ.get("TEST_DATABASE_URL", POSTGRES)
        try:
            psycopg.connect(server, connect_timeout=3).close()
        except psycopg.OperationalError:
            print("PostgreSQL left out: start one and set TEST_DATABASE_URL")
            return
        with postgres_copy(server) as database:
            report(database, Path(folder), rows)


def report(database: Database, folder: Path, rows: int) -> None:
    migrate(database, folder)
    began = time.monotonic()
    run(database, folder, "tests.bench.fill", str(rows))
    print(
        f"{database.vendor}: {rows} attempts and calls, filled in {time.monotonic() - began:.0f} s"
    )
    print(f"  {'page':<30}{'queries':>8}{'median ms':>11}{'slowest':>9}{'work':>7}", flush=True)
    for name, page in json.loads(run(database, folder, "tests.bench.admin", "measure")).items():
        slow = "" if page["median"] <= AIM_MS else f"  over {AIM_MS}"
        times = f"{page['median']:>11.0f}{page['slowest']:>9.0f}{page['work']:>7.0f}"
        print(f"  {name:<30}{page['queries']:>8}{times}{slow}", flush=True)


def run(database: Database, folder: Path, *module: str) -> str:
    environment = (
        database.environment(folder)
        | inherited()
        | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "TEST_DATABASE": database.url,
            "RATE_LIMITS": "OFF",
        }
    )
    command = [sys.executable, "-m", *module]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


# In a process of its own, on the database of its environment


def measure() -> dict[str, dict[str, float]]:
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.create_superuser("bench"))
    return {name: measured(client, name, path) for name, path in PAGES.items()}


def measured(client, name: str, path: str) -> dict[str, float]:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    headers = {"HX-Request": "true"} if name == PART else {}
    with CaptureQueriesContext(connection) as caught:
        assert client.get(f"/admin/{path}", headers=headers).status_code == 200, path
    queries = len(caught.captured_queries)
    times, worked = [], time.process_time()
    for _ in range(TIMES):
        began = time.monotonic()
        client.get(f"/admin/{path}", headers=headers)
        times.append(1000 * (time.monotonic() - began))
    return {
        "queries": queries,
        "median": statistics.median(times),
        "slowest": max(times),
        "work": 1000 * (time.process_time() - worked) / TIMES,
    }


if __name__ == "__main__":
    django.setup()
    print(json.dumps(measure()))
