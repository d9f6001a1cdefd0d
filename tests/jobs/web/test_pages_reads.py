"""A page costs the same number of queries whatever the history. What it writes: `test_writes`."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from quotas.models import Grant
from tests import rows
from tests.jobs.conftest import HTMX

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

# Four for session, user, account and balance (the first two once a minute); then home: in progress,
# ended, their pictures, heartbeats; gallery: the same and the pictures of what is in progress
# (none: no query); a job: itself, its events, its call, its pictures, its next try.
# A picture: itself with its job, its two neighbours.
QUERIES = {"/": 4 + 4, "/gallery": 4 + 5, "/jobs/{job}": 4 + 5, "/images/{picture}": 4 + 3}


@pytest.fixture
def history(account, now):
    """Three jobs a count: ready, failed, in doubt. Returns a ready one."""

    def make(count: int):
        grant = {"account": account, "kind": "image", "day": now.date(), "slots": 100}
        Grant.objects.create(**grant, reason="test", granted_at=now)
        for number in range(count):
            job = rows.ready(account, now - timedelta(minutes=number))
            rows.failed(account, now - timedelta(minutes=number))
            rows.lost(account, now - timedelta(minutes=number))
        return job

    return make


def queries_of(client, address: str, **kwargs) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as caught:
        response = client.get(address, **kwargs)
        b"".join(response) if response.streaming else response.content
    return [query["sql"] for query in caught.captured_queries]


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("address", QUERIES)
def test_number_of_queries_is_constant(ana_client, history, address, count):
    job = history(count)
    queries = queries_of(ana_client, address.format(job=job.pk, picture=job.pictures.get().pk))
    assert len(queries) == QUERIES[address], "\n".join(queries)


def test_gallerys_later_pages_cost_no_more(ana_client, history):
    history(20)
    assert len(queries_of(ana_client, "/gallery?page=2")) < QUERIES["/gallery"]


def test_poll_for_tiles_costs_the_same_for_one_and_for_many(ana_client, account, history):
    history(10)
    ids = [str(job.pk) for job in account.jobs.filter(state="in_doubt")]
    ana_client.get("/")
    one = queries_of(ana_client, f"/gallery?tiles={ids[0]}", headers=HTMX)
    many = queries_of(ana_client, f"/gallery?tiles={','.join(ids)}", headers=HTMX)
    assert len(one) == len(many)


def test_file_asks_for_its_owner_only(ana_client, history):
    picture = history(1).pictures.get()
    assert len(queries_of(ana_client, f"/images/{picture.pk}/file")) == 4
