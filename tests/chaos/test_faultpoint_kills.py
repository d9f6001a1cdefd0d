"""Kill -9 at every commit point of the pipeline."""

import pytest

from jobs.core.faultpoints import POINTS
from tests.chaos.faultpoint_jobs import id_of_the_job, the_job

pytestmark = pytest.mark.site

# Where a death leaves a doubt: between the row of the call and the row of the provider's id.
DOUBT = {"call_committed": 0, "submit_answered": 1}


@pytest.mark.parametrize("point", POINTS)
def test_a_death_at_any_point_pays_at_most_once_and_loses_nothing(site, point):
    known = set(site.rows())
    site.arm(point, "kill")
    site.placing.send("place", point)
    site.wait_until(site.hit.exists)
    site.placing.receive()
    expected = "in_doubt" if point in DOUBT else "ready"
    site.wait_until(lambda: (the_job(site, known) or {}).get("state") == expected)
    row = the_job(site, known)
    work = f"image:{id_of_the_job(site, known)}"
    assert site.executions().get(work, 0) == DOUBT.get(point, 1)
    if point in DOUBT:
        assert (row["attempt"], row["rules"]) == ("pending", ["sender_lost"])
    else:
        assert (row["attempt"], len(row["pictures"])) == ("success", 1)


def test_afterwards_the_books_balance(site):
    audit = site.run("audit")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert all(executions <= 1 for executions in site.executions().values())
