"""The whole site through PgBouncer in transaction mode, where no session is ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.databases import ROOT, Database
from tests.pgbouncer import PROGRAM, PgBouncer
from tests.postgres_server import Server
from tests.site_orders import Desk
from tests.site_process import free_port
from tests.web_orders import place

pytestmark = [pytest.mark.site, pytest.mark.postgres]


@pytest.fixture
def pooler(postgres_database, tmp_path):
    if PROGRAM is None:
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail("PgBouncer is missing", pytrace=False)
        pytest.skip("skipped what needs PgBouncer: install pgbouncer")
    with PgBouncer(tmp_path, postgres_database.url) as pooler:
        yield pooler


@pytest.fixture
def desk():
    desks = []

    def open_desk(site) -> Desk:
        desks.append(Desk(site.env))
        return desks[-1]

    yield open_desk
    for each in desks:
        each.close()


def environment_of(pooler: PgBouncer, folder: Path) -> dict[str, str]:
    ports = {"PORT": str(free_port()), "SANDBOX_PORT": str(free_port())}
    return Database("postgresql", pooler.url).environment(folder) | ports


def states_of(desk: Desk) -> list[str]:
    return [job["state"] for job in desk.ask("report").values()]


def test_orders_are_delivered_and_the_books_are_right(start_site, pooler, desk):
    site = start_site(DATABASE_URL=pooler.url, SANDBOX_SECONDS="1")
    clerk = desk(site)
    assert follow_order(site) == ["event: state", "event: close"]
    pooler.restart()
    site.wait_until(lambda: requests.get(f"{site.url}/readyz", timeout=20).ok, seconds=30)
    clerk.ask("place", "second", "third")
    site.wait_until(lambda: states_of(clerk) == ["ready"] * 3)
    audit = site.run("audit", "--deep")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert site.logs().count("The pooler of DATABASE_URL cannot LISTEN") == 1
    assert "Traceback" not in site.logs()


def follow_order(site) -> list[str]:
    """The first and the last event of a new visitor's page, by its stream."""
    with requests.Session() as browser:
        job = place(browser, site.url).headers["Location"]
        with browser.get(f"{site.url}{job}/stream", stream=True, timeout=60) as answer:
            lines = [line.decode() for line in answer.iter_lines()]
    events = [line for line in lines if line.startswith("event:")]
    assert events.count("event: state") > 1
    return [events[0], events[-1]]


def test_a_default_that_the_pooler_would_pass_on_is_refused_at_the_start(pooler, tmp_path):
    Server(pooler.url).set("default_transaction_isolation", "serializable")
    # Its sessions with the server are older than the new default.
    pooler.restart()
    ended = subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT,
        env=environment_of(pooler, tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert "default_transaction_isolation is serializable, and the pooler" in line


def test_two_starts_at_once_migrate_one_after_the_other(pooler, tmp_path):
    code = """
import django, time; django.setup()
from config.supervisor.preflight import nobody_else_migrating
with nobody_else_migrating():
    print("in", time.monotonic()); time.sleep(1); print("out", time.monotonic())
"""
    environment = environment_of(pooler, tmp_path)
    starts = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    said = [line.split() for start in starts for line in start.communicate()[0].splitlines()]
    in_turn = [word for word, _ in sorted(said, key=lambda line: float(line[1]))]
    assert in_turn == ["in", "out"] * 3
