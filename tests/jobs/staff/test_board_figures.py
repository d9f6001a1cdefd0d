"""The numbers of the board: what is on its way, how today went, and who used the quota."""

from datetime import timedelta

import pytest

from jobs.core.models import Job
from jobs.staff.dashboard import figures, usage
from providers.calls.models import Call
from providers.routing import gates
from quotas import accounts
from quotas.ledger import reserve
from quotas.models import Allowance, Attempt, Grant, Plan
from quotas.top_accounts import read_day_usage
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BOARD = "/admin/dashboard/"
MINUTE = timedelta(minutes=1)


def test_a_call_is_in_flight_or_in_doubt_and_never_both(account, now):
    rows.generating(account, now)
    rows.lost(account, now)
    rows.ready(account, now)
    flights = figures.flights(figures.live_by_provider(), figures.doubtful_by_provider(now))
    assert flights == {"sandbox": figures.Flight(in_flight=1, in_doubt=1)}


def test_depth_and_age_of_the_queue(account, now):
    assert figures.waiting(now) == figures.Waiting(0, None)
    rows.queued(account, now - 3 * MINUTE)
    rows.queued(account, now)
    assert figures.waiting(now) == figures.Waiting(2, 3 * MINUTE)


def test_today_counts_what_ended_today(account, now):
    rows.ready(account, now)
    for _ in range(2):
        rows.failed(account, now)
    rows.cancelled(account, now)
    rows.queued(account, now)
    yesterday = rows.failed(account, now)
    Job.objects.filter(pk=yesterday.pk).update(ended_at=now - timedelta(hours=13))
    today = figures.ended_on(now.date())
    assert today == figures.Today(finished=3, failed=2)
    assert round(today.failure_percent) == 67


def test_no_rate_is_told_where_nothing_ended(now):
    assert figures.ended_on(now.date()).failure_percent is None


def test_money_of_two_currencies_stands_side_by_side(staff_client, account, now):
    for currency in ("RUB", "USD"):
        job = rows.lost(account, now)
        Call.objects.filter(pk=rows.call_of(job).pk).update(currency=currency)
    rows.not_confirmed(account, now)
    text = text_of(staff_client.get(BOARD))
    assert "Money at risk 5.00 RUB 5.00 USD" in text
    assert "Possibly charged, of any day 5.00 RUB" in text


def test_money_of_calls_without_a_price_is_not_told_as_none(staff_client, account, now):
    Call.objects.filter(pk=rows.call_of(rows.lost(account, now)).pk).update(cost_estimate=None)
    text = text_of(staff_client.get(BOARD))
    assert "Money at risk 1 without a price Possibly charged, of any day – " in text
    rows.lost(account, now)
    for _ in range(2):
        call = rows.call_of(rows.not_confirmed(account, now))
        Call.objects.filter(pk=call.pk).update(cost_estimate=None)
    text = text_of(staff_client.get(BOARD))
    assert "Money at risk 5.00 RUB 1 without a price" in text
    assert "Possibly charged, of any day 2 without a price" in text


def test_the_list_of_gates_tells_of_calls_without_a_price(staff_client, account, now):
    gates.pause("sandbox", now)
    for lead in (rows.lost, rows.not_confirmed):
        Call.objects.filter(pk=rows.call_of(lead(account, now)).pk).update(cost_estimate=None)
    text = text_of(staff_client.get("/admin/providers/gate/"))
    assert text.count("0.00 RUB 1 without a price") == 2


def test_use_of_thirty_days(account, now):
    rows.ready(account, now)
    rows.failed(account, now)
    rows.lost(account, now - timedelta(days=29))
    rows.lost(account, now - timedelta(days=30))
    days = usage.use_until(now.date())
    assert len(days) == 30
    assert days[-1] == usage.DayOfUse(now.date(), success=1, failed=1)
    assert days[0].pending == 1
    assert sum(day.total for day in days) == 3


def test_chart_says_its_numbers_in_words_too(staff_client, account, now):
    rows.ready(account, now)
    page = staff_client.get(BOARD).content.decode()
    assert '<svg class="bars"' in page
    assert "<title>14 Mar: 1 used, 0 on hold, 0 given back</title>" in page
    assert "14 Mar 2026</th><td>1</td><td>0</td><td>0</td>" in page


def test_who_used_most_and_who_is_at_the_limit(account, visitor, now):
    for _ in range(3):
        rows.lost(visitor, now)
    for _ in range(4):
        rows.ready(account, now)
    rows.failed(account, now)
    spending = read_day_usage(now.date())
    assert (spending.spenders, spending.at_limit) == (2, 1)
    assert [(s.account_id, s.used, s.on_hold, s.allowed) for s in spending.top] == [
        (account.pk, 4, 0, 10),
        (visitor.pk, 0, 3, 3),
    ]
    assert {s.kind_in_words for s in spending.top} == {"pictures"}


def test_an_account_is_counted_once_whatever_the_kinds_it_uses(account, visitor, now):
    for kind, slots in (("contract", 1), ("clean-up", 1), ("export", 2)):
        key = {"plan": account.plan, "kind": kind}
        Allowance.objects.update_or_create(**key, defaults={"slots": slots})
        assert isinstance(reserve(account=account, kind=kind, now=now), Attempt)
    rows.lost(visitor, now)
    spending = read_day_usage(now.date())
    assert (spending.spenders, spending.at_limit) == (2, 1)


def test_a_grant_lifts_the_limit(visitor, now):
    for _ in range(3):
        rows.lost(visitor, now)
    extra = {"account": visitor, "kind": "image", "reason": "test", "granted_at": now, "slots": 1}
    Grant.objects.create(day=now.date() - timedelta(days=1), **extra)
    assert read_day_usage(now.date()).at_limit == 1
    Grant.objects.create(day=now.date(), **extra)
    assert read_day_usage(now.date()).at_limit == 0


def test_ten_are_named_and_all_are_counted(now):
    plan = Plan.objects.get(name="free")
    for number in range(12):
        account = accounts.ensure_saved(accounts.account_named(f"n{number}"), now=now)
        type(account).objects.filter(pk=account.pk).update(plan=plan)
        rows.lost(account, now)
    spending = read_day_usage(now.date())
    assert (len(spending.top), spending.spenders) == (10, 12)


def test_nobody_spent_anything(now):
    assert read_day_usage(now.date()).top == ()
