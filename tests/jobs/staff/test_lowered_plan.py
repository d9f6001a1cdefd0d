"""A plan that was lowered below what is held: no page shows a number below zero."""

import re

import pytest

from quotas.models import Allowance
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued")]


@pytest.fixture
def set_slots(account):
    def set_slots(slots: int) -> None:
        Allowance.objects.filter(plan=account.plan, kind="image").update(slots=slots)

    return set_slots


@pytest.fixture
def held(account, now) -> None:
    """Two used, three on hold."""
    for way in (rows.ready, rows.ready, rows.generating, rows.generating, rows.lost):
        way(account, now)


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("slots", [0, 1, 4])
@pytest.mark.parametrize("address", ["/", "/images/new", "/gallery"])
def test_nothing_is_left_and_nothing_is_negative(ana_client, set_slots, slots, address):
    set_slots(slots)
    page = ana_client.get(address, follow=True)
    assert f"0 of {slots} slots left today · 3 on hold" in text_of(page)
    assert not re.search(r"(?<![\w-])-\d", text_of(page))
    assert not re.search(r' (width|height|x)="-', page.content.decode())


@pytest.mark.usefixtures("held")
def test_an_order_is_refused_with_its_text_until_the_plan_is_raised(ana_client, set_slots):
    fields = {"prompt": "a fox", "aspect_ratio": "1:1", "form_key": "k" * 20}
    set_slots(2)
    refused = ana_client.post("/images/new", fields)
    assert refused.status_code == 429
    assert "a fox</textarea>" in refused.content.decode()
    set_slots(6)
    assert "1 of 6 slots left today" in text_of(ana_client.get("/"))
    assert ana_client.post("/images/new", fields).status_code == 303
