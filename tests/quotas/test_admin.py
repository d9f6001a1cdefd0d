"""What staff see and may do; and that no page asks more the longer the history is."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from quotas.accounts import account_of_visitor, ensure_saved
from quotas.alerts import close_alert, open_alert
from quotas.days import utc_day
from quotas.ledger import read_balance, reserve
from quotas.models import Account, Alert, AlertKind, Allowance, Attempt, Grant, Plan


@pytest.fixture(autouse=True)
def _noon(now):
    """The pages ask the clock which day is today, and midnight must not come in between."""
    with time_machine.travel(now, tick=False):
        yield


@pytest.fixture
def pages(client, staff):
    client.force_login(staff)
    return client


@pytest.fixture
def grow(staff, now):
    """More accounts, each with attempts and a grant of today."""

    def grow(count: int) -> None:
        start = Account.objects.count()
        for number in range(start, start + count):
            user = get_user_model().objects.create(username=f"user{number}")
            account = Account.objects.create(
                user=user, plan=Plan.objects.get(name="free"), created_at=now
            )
            reserve(account=account, kind="image", now=now)
            Grant.objects.create(
                account=account, kind="image", day=utc_day(now), slots=1, granted_at=now,
                granted_by=staff,
            )  # fmt: skip

    return grow


def count_queries(pages, address: str) -> int:
    """Of the second visit: the first of a process also reads the content types."""
    pages.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert pages.get(address).status_code == 200
    return len(queries)


@pytest.mark.parametrize("table", ["account", "attempt", "grant", "plan"])
def test_list_takes_the_same_queries_whatever_its_length(pages, grow, table):
    address = f"/admin/quotas/{table}/"
    grow(2)
    before = count_queries(pages, address)
    grow(20)
    assert count_queries(pages, address) == before


@pytest.mark.parametrize("table", ["account", "attempt", "grant"])
def test_page_of_a_row_takes_the_same_queries_whatever_the_history(pages, grow, table):
    grow(1)
    row = {"account": Account, "attempt": Attempt, "grant": Grant}[table].objects.get()
    address = f"/admin/quotas/{table}/{row.pk}/change/"
    before = count_queries(pages, address)
    grow(20)
    assert count_queries(pages, address) == before


def test_big_list_counts_no_further_than_the_bound(pages, grow, monkeypatch):
    monkeypatch.setattr("config.admin_base.MOST_COUNTED", 3)
    grow(5)
    assert pages.get("/admin/quotas/attempt/").context["cl"].result_count == 3


def test_no_list_asks_for_distinct_values(pages, grow):
    grow(2)
    with CaptureQueriesContext(connection) as queries:
        for table in ("account", "attempt", "grant", "plan"):
            pages.get(f"/admin/quotas/{table}/")
    assert not [query for query in queries if "DISTINCT" in query["sql"]]


def test_accounts_show_todays_balance(pages, account, now):
    reserve(account=account, kind="image", now=now)
    page = pages.get("/admin/quotas/account/").content.decode()
    assert "9 left, 1 on hold, 0 used of 10" in page


def test_account_page_shows_the_balance_and_the_way_to_a_grant(pages, account):
    page = pages.get(f"/admin/quotas/account/{account.pk}/change/").content.decode()
    assert "10 left, 0 on hold, 0 used of 10" in page
    assert f"/admin/quotas/grant/add/?account={account.pk}" in page
    assert f"/admin/quotas/attempt/?account__id__exact={account.pk}" in page


@pytest.fixture
def found(pages):
    def found(query: str) -> list[str]:
        page = pages.get("/admin/quotas/account/", {"q": query})
        return [str(account) for account in page.context["cl"].result_list]

    return found


@pytest.mark.parametrize("query", ["rob", "robot"])
def test_account_is_found_by_the_beginning_of_its_name(found, visitor, now, query):
    robot = Account(name="robot", plan=visitor.plan)
    ensure_saved(robot, now=now)
    assert found(query) == ["robot"]


def test_account_is_found_by_the_beginning_of_the_user_name(found, account, visitor):
    assert found("an") == [str(account)]


def test_account_is_found_by_the_beginning_of_the_visitor(found, account, now):
    visitor = ensure_saved(account_of_visitor("q7f-abcdef"), now=now)
    assert found("q7f-a") == [str(visitor)]


def test_account_is_found_by_its_number(found, account, visitor):
    assert found(str(account.pk)) == [str(account)]


def test_nothing_is_found_by_the_middle_of_a_name(found, account):
    assert found("na") == []


def test_accounts_are_filtered_by_plan(pages, account, visitor):
    plan = Plan.objects.get(name="visitor")
    page = pages.get("/admin/quotas/account/", {"plan__id__exact": plan.pk})
    assert list(page.context["cl"].result_list) == [visitor]


def test_staff_change_an_accounts_plan_and_nothing_else(pages, account, ben):
    paid = Plan.objects.get(name="paid")
    address = f"/admin/quotas/account/{account.pk}/change/"
    pages.post(address, {"plan": paid.pk, "user": ben.pk, "name": "other"})
    account.refresh_from_db()
    assert (account.plan, account.user.username, account.name) == (paid, "ana", None)


@pytest.mark.parametrize("page", ["add/", "{pk}/delete/"])
def test_account_is_neither_made_nor_deleted_by_hand(pages, account, page):
    address = f"/admin/quotas/account/{page.format(pk=account.pk)}"
    assert pages.post(address, {"post": "yes"}).status_code == 403
    assert Account.objects.count() == 1


@pytest.fixture
def give(pages, account, now):
    def give(**changed):
        fields = {
            "account": account.pk, "kind": "image", "day": utc_day(now), "slots": 5,
            "reason": "lost picture", "key": "of the form",
        }  # fmt: skip
        return pages.post("/admin/quotas/grant/add/", fields | changed)

    return give


def test_grant_notes_who_gave_it_and_when(give, staff, now):
    assert give(granted_by="").status_code == 302
    grant = Grant.objects.get()
    assert grant.granted_by == staff
    assert grant.granted_at >= now


def test_grant_raises_the_balance_at_once(give, account, now):
    give()
    assert read_balance(account, "image", utc_day(now)).left == 15


@pytest.mark.parametrize("slots", [-1, 0, 100_001])
def test_grant_of_nothing_or_beyond_reason_is_said_on_the_page(give, slots):
    assert give(slots=slots).status_code == 200
    assert not Grant.objects.exists()


@pytest.mark.parametrize("page", ["change/", "delete/"])
def test_grant_is_neither_edited_nor_deleted_without_a_reason(give, pages, page):
    give()
    address = f"/admin/quotas/grant/{Grant.objects.get().pk}/{page}"
    assert pages.post(address, {"slots": 50, "post": "yes"}).status_code == 403
    assert Grant.objects.get().slots == 5


def test_grant_for_a_day_that_is_over_is_refused_in_words(give, now):
    shown = give(day=utc_day(now) - timedelta(days=1)).content.decode()
    assert "This day is over" in shown
    assert not Grant.objects.exists()


def test_grant_to_a_closed_account_is_refused_in_words(give, visitor, account, now):
    Account.objects.filter(pk=visitor.pk).update(closed_at=now, moved_to=account)
    assert "This account is closed" in give(account=visitor.pk).content.decode()
    assert not Grant.objects.exists()


def test_grant_form_starts_with_the_account_and_today(pages, account, now):
    page = pages.get("/admin/quotas/grant/add/", {"account": account.pk})
    form = page.context["adminform"].form
    assert str(form["account"].value()) == str(account.pk)
    assert form["day"].value() == utc_day(now).isoformat()


@pytest.mark.parametrize("page", ["add/", "{pk}/change/", "{pk}/delete/"])
def test_ledger_is_not_written_by_hand(pages, account, now, page):
    attempt = reserve(account=account, kind="image", now=now)
    address = f"/admin/quotas/attempt/{page.format(pk=attempt.pk)}"
    assert pages.post(address, {"state": "failed", "post": "yes"}).status_code == 403
    assert Attempt.objects.get().state == "pending"


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ({"state__exact": "pending"}, 2),
        ({"state__exact": "failed"}, 0),
        ({"kind__exact": "contract"}, 1),
        ({"on": "today"}, 1),
        ({"on": "yesterday"}, 1),
        ({"on": "week"}, 2),
    ],
)
def test_attempts_are_filtered_by_state_kind_and_day(pages, account, now, query, seen):
    reserve(account=account, kind="image", now=now)
    reserve(account=account, kind="contract", now=now - timedelta(days=1))
    page = pages.get("/admin/quotas/attempt/", query)
    assert len(page.context["cl"].result_list) == seen


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ({"state__exact": "failed"}, "-day"),
        ({"state__exact": "success"}, "-pk"),
        ({"state__exact": "failed", "account__id__exact": "1"}, "-pk"),
    ],
)
def test_attempts_come_in_the_order_of_the_index_that_finds_them(pages, db, query, first):
    """By another, a million rows of one state would be sorted first."""
    page = pages.get("/admin/quotas/attempt/", query)
    assert page.context["cl"].queryset.query.order_by[0] == first


def test_staff_change_the_slots_of_a_plan(pages, db):
    plan = Plan.objects.get(name="free")
    image, contract = Allowance.objects.filter(plan=plan).order_by("pk")
    fields = {"allowances-TOTAL_FORMS": 2, "allowances-INITIAL_FORMS": 2}
    for number, row, slots in ((0, image, 12), (1, contract, contract.slots)):
        prefix = f"allowances-{number}"
        fields |= {f"{prefix}-id": row.pk, f"{prefix}-plan": plan.pk}
        fields |= {f"{prefix}-kind": row.kind, f"{prefix}-slots": slots}
    assert pages.post(f"/admin/quotas/plan/{plan.pk}/change/", fields).status_code == 302
    image.refresh_from_db()
    assert image.slots == 12


@pytest.mark.parametrize("name", ["visitor", "free", "operator"])
def test_plan_that_new_accounts_are_given_is_neither_renamed_nor_deleted(pages, name):
    plan = Plan.objects.get(name=name)
    address = f"/admin/quotas/plan/{plan.pk}"
    assert pages.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    assert b'name="name"' not in pages.get(f"{address}/change/").content


def test_plan_that_somebody_is_on_is_not_deleted(pages, account):
    plan = Plan.objects.create(name="trial")
    Account.objects.update(plan=plan)
    address = f"/admin/quotas/plan/{plan.pk}/delete/"
    assert pages.post(address, {"post": "yes"}).status_code == 403
    Account.objects.update(plan=Plan.objects.get(name="free"))
    assert pages.post(address, {"post": "yes"}).status_code == 302


@pytest.fixture
def alerts(pages, now):
    """Three of two kinds, the newest of them closed."""
    kinds = [AlertKind.PROVIDER_PAUSED, AlertKind.CONTRADICTION, AlertKind.PROVIDER_PAUSED]
    for number, kind in enumerate(kinds):
        opened_at = now - timedelta(hours=9 - number)
        open_alert(kind=kind, subject=f"s{number}", now=opened_at, words="look at it")
    close_alert(kind=AlertKind.PROVIDER_PAUSED, subject="s2", now=now - timedelta(hours=2))

    def listed(**query) -> list[str]:
        page = pages.get("/admin/quotas/alert/", query)
        return [alert.subject for alert in page.context["cl"].result_list]

    return listed


def test_open_alerts_come_first_the_newest_before_the_older(alerts):
    assert alerts() == ["s1", "s0", "s2"]


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ({"is": "open"}, ["s1", "s0"]),
        ({"is": "closed"}, ["s2"]),
        ({"kind": "contradiction"}, ["s1"]),
        ({"kind": "provider_paused", "is": "open"}, ["s0"]),
    ],
)
def test_alerts_are_filtered_by_kind_and_state(alerts, query, subjects):
    assert alerts(**query) == subjects


@pytest.mark.usefixtures("alerts")
def test_alert_says_how_long_it_has_been_open(pages):
    page = pages.get("/admin/quotas/alert/").content.decode().replace("\xa0", " ")
    assert [f">{hours} hours<" in page for hours in (9, 8, 5)] == [True] * 3
    assert "look at it" in page


@pytest.mark.parametrize("page", ["add/", "{pk}/change/", "{pk}/delete/"])
def test_alert_is_not_written_by_hand(pages, alerts, page):
    alert = Alert.objects.earliest("pk")
    address = f"/admin/quotas/alert/{page.format(pk=alert.pk)}"
    assert pages.post(address, {"post": "yes", "words": "nothing"}).status_code == 403
    assert pages.get(f"/admin/quotas/alert/{alert.pk}/change/").status_code == 200
    assert Alert.objects.get(pk=alert.pk).words == "look at it"
