"""Staff see which networks new visitors came from, and change nothing there."""

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from quotas.accounts import account_of_visitor, ensure_saved
from quotas.models import Newcomer
from quotas.new_visitors import take_seat

LIST = "/admin/quotas/newcomer/"


@pytest.fixture(autouse=True)
def _noon(now):
    with time_machine.travel(now, tick=False):
        yield


@pytest.fixture
def pages(client, staff):
    client.force_login(staff)
    return client


@pytest.fixture
def come(db, now):
    def come(count: int) -> None:
        for number in range(count):
            account = ensure_saved(account_of_visitor(f"{count}-{number}"), now=now)
            assert take_seat(account=account, network=f"192.0.2.{number}", now=now)

    return come


def queries_of(pages, address: str) -> int:
    pages.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert pages.get(address).status_code == 200
    return len(queries)


def test_list_shows_networks_with_as_many_queries_whatever_its_length(pages, come):
    come(2)
    before = queries_of(pages, LIST)
    come(20)
    assert queries_of(pages, LIST) == before
    assert "192.0.2.19" in pages.get(f"{LIST}?on=today").content.decode()


def test_nobody_adds_changes_or_deletes_one(pages, come):
    come(1)
    seat = Newcomer.objects.get()
    assert pages.get(f"{LIST}add/").status_code == 403
    assert pages.post(f"{LIST}{seat.pk}/change/", {"network": "x"}).status_code == 403
    assert pages.post(f"{LIST}{seat.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Newcomer.objects.get().network == "192.0.2.0"
