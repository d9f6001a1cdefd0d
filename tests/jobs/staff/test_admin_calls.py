"""Staff read the call ledger: evidence that nobody edits."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from providers.calls.models import Call
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = pytest.mark.django_db

LIST = reverse("admin:providers_call_changelist")


def found(client, **query: str) -> set[int]:
    shown = client.get(LIST, query).content.decode()
    return {call.pk for call in Call.objects.all() if f"/call/{call.pk}/change/" in shown}


def pk_of(job) -> int:
    return rows.call_of(job).pk


def test_call_is_read_with_all_that_is_known(staff_client, account, now):
    call = rows.call_of(rows.failed(account, now))
    text = text_of(staff_client.get(reverse("admin:providers_call_change", args=[call.pk])))
    for part in (call.work, "content", "SECRET_CODE", "secret text"):
        assert part in text


def test_its_instants_are_told_to_the_second_and_in_utc(staff_client, account, now):
    call = rows.call_of(rows.lost(account, now))
    page = staff_client.get(reverse("admin:providers_call_change", args=[call.pk]))
    assert "14 Mar 2026, 12:00:01 UTC" in text_of(page)


@pytest.mark.parametrize("page", ["admin:providers_call_change", "admin:providers_call_delete"])
def test_call_is_not_edited(staff_client, account, now, page):
    call = rows.call_of(rows.lost(account, now))
    response = staff_client.post(reverse(page, args=[call.pk]), {"state": "failed", "post": "yes"})
    assert response.status_code == 403
    assert Call.objects.get().state == "unknown"


def test_money_is_shown_as_money(staff_client, account, now):
    rows.failed_billed(account, now)
    shown = staff_client.get(LIST).content.decode()
    assert shown.count('<span class="money">5.00 RUB</span>') == 2


def test_unknown_cost_is_a_dash_and_no_zero(staff_client, account, now):
    rows.lost(account, now)
    assert '<span class="money">–</span>' in staff_client.get(LIST).content.decode()


def test_calls_in_doubt_are_filtered(staff_client, account, clock, now):
    lost = rows.lost(account, now)
    rows.ready(account, now)
    rows.generating(account, now)
    overdue = rows.generating(account, now - timedelta(minutes=16))
    assert found(staff_client, in_doubt="yes") == {pk_of(lost), pk_of(overdue)}


@pytest.mark.parametrize(
    "query", [{"state__exact": "unknown"}, {"why": "transport"}, {"q": "{work}"}, {"q": "{job}"}]
)
def test_call_is_found(staff_client, account, now, query):
    lost = rows.lost(account, now)
    rows.ready(account, now)
    words = {"work": f"image:{lost.pk}", "job": lost.pk}
    asked = {name: value.format(**words) for name, value in query.items()}
    assert found(staff_client, **asked) == {pk_of(lost)}


def test_call_is_found_by_the_providers_id(staff_client, account, now):
    rows.lost(account, now)
    running = rows.call_of(rows.generating(account, now))
    assert found(staff_client, q=running.reference) == {running.pk}


def test_calls_are_filtered_by_provider(staff_client, account, now):
    rows.lost(account, now)
    assert found(staff_client, provider="polza") == set()
    assert len(found(staff_client, provider="sandbox")) == 1


@pytest.mark.parametrize("count", [1, 9])
def test_list_costs_the_same_whatever_the_history(staff_client, account, now, count):
    for _ in range(count):
        rows.lost(account, now)
    with CaptureQueriesContext(connection) as caught:
        staff_client.get(LIST)
    assert len(caught) == 4
