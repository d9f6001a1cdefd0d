"""A sleep longer than the lease at every commit point of the pipeline."""

import os
import signal
import time

import psutil
import pytest

from jobs.core.faultpoints import POINTS
from tests.chaos.faultpoint_jobs import id_of_the_job, the_job

pytestmark = pytest.mark.site


@pytest.mark.parametrize("point", POINTS)
def test_a_sleep_longer_than_the_lease_changes_nothing(site, point):
    known = set(site.rows())
    site.arm(point, "stop")
    site.placing.send("place", point)
    site.wait_until(site.hit.exists)
    sleeper = psutil.Process(int(site.hit.read_text()))
    site.wait_until(lambda: sleeper.status() == psutil.STATUS_STOPPED)
    site.wait_until(lambda: lease_has_lapsed(site, known, point))
    os.kill(sleeper.pid, signal.SIGCONT)
    site.placing.receive()
    site.wait_until(lambda: (the_job(site, known) or {}).get("state") == "ready")
    row = the_job(site, known)
    assert (row["attempt"], len(row["pictures"])) == ("success", 1)
    job = id_of_the_job(site, known)
    assert site.executions()[f"image:{job}"] == site.requests_of(job) == 1


def lease_has_lapsed(site, known: set[str], point: str) -> bool:
    """And before the request leaves, the time to send is over too."""
    slept = time.time() - site.hit.stat().st_mtime
    lasts = "SEND_WITHIN" if point == "call_committed" else "LEASE_LASTS"
    return slept > 1.5 * float(site.settings[lasts])


def test_afterwards_the_books_balance(site):
    audit = site.run("audit")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert all(executions <= 1 for executions in site.executions().values())
