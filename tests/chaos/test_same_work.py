"""The same work in several hands at once: one request on the wire."""

import pytest

from tests.site_orders import Desk

pytestmark = pytest.mark.site

HANDS = 3
JOBS = 12


@pytest.fixture
def hands(site):
    desks = [Desk(site.env) for _ in range(HANDS)]
    yield desks
    for desk in desks:
        desk.close()


def place(site, prefix: str) -> list[str]:
    return list(site.order(*[f"{prefix}-{number}" for number in range(JOBS)]).values())


def wait_for_pictures(site, jobs: list[str]) -> None:
    def all_ready() -> bool:
        rows = site.rows()
        return all(rows[job]["state"] == "ready" for job in jobs)

    site.wait_until(all_ready)


def test_several_workers_at_the_same_instant_send_one_request(site, hands):
    """Beside the site's own workers, which were given each job too."""
    for desk in hands:
        desk.ask("report")
    jobs = place(site, "together")
    for desk in hands:
        desk.send("work", *jobs)
    assert [desk.receive() != "" for desk in hands] == [True] * HANDS
    wait_for_pictures(site, jobs)
    assert [site.requests_of(job) for job in jobs] == [1] * JOBS


def test_a_message_that_is_delivered_again_sends_nothing_again(site, hands):
    jobs = place(site, "again")
    hands[0].ask("redeliver", *jobs)
    wait_for_pictures(site, jobs)
    hands[0].ask("redeliver", *jobs)
    after = place(site, "after")
    wait_for_pictures(site, after)
    assert [site.requests_of(job) for job in jobs] == [1] * JOBS
    assert all(len(site.rows()[job]["pictures"]) == 1 for job in jobs)
