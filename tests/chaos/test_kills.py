"""Kill -9 of each process of the house with work in flight, once each."""

import os
import signal

import pytest

from tests.site_process import running

pytestmark = pytest.mark.site

ENDS = {"ready", "in_doubt"}


def all_went_on(site, jobs: dict[str, str]) -> bool:
    rows = site.rows()
    return all(rows[job]["state"] in ENDS for job in jobs.values())


def assert_kept(site, jobs: dict[str, str]) -> None:
    """At most one execution a work; a doubt only where a sender died on the way."""
    rows, executions = site.rows(), site.executions()
    for job in jobs.values():
        assert executions.get(f"image:{job}", 0) <= 1
        if rows[job]["state"] == "in_doubt":
            assert rows[job]["rules"][-1] == "sender_lost"
        else:
            assert (rows[job]["attempt"], len(rows[job]["pictures"])) == ("success", 1)


def assert_serves_again(site) -> None:
    jobs = site.order("after")
    site.wait_until(lambda: site.rows()[jobs["after"]]["state"] == "ready")


@pytest.mark.parametrize(
    "part", ["q-worker", "q-monitor", "q-pusher", "q-sentinel", "cluster", "ticker"]
)
def test_one_part_dies(site, part):
    jobs = site.order("one", "two")
    site.kill(part)
    site.wait_until(lambda: all_went_on(site, jobs))
    assert_kept(site, jobs)
    assert_serves_again(site)


def test_the_whole_cluster_dies(site):
    jobs = site.order("one", "two", "three")
    site.kill_group("cluster")
    site.wait_until(lambda: all_went_on(site, jobs))
    assert_kept(site, jobs)
    assert_serves_again(site)


def test_up_itself_dies_and_is_started_again(site):
    jobs = site.order("one", "two", "three")
    below = site.processes()
    os.kill(site.up.pid, signal.SIGKILL)
    site.up.wait()
    site.wait_until(lambda: running(below) == [])
    site.start()
    site.wait_until(lambda: all_went_on(site, jobs))
    assert_kept(site, jobs)
    assert_serves_again(site)
