"""The staff's board as a page: what it tells of alerts, doubts and the house, to whom, at what
cost."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django_q.models import Schedule, Task

from jobs.staff.dashboard import alerts as troubles
from jobs.staff.dashboard import dashboard, processes
from providers.calls import ledger
from providers.calls.models import Call, Gate, SmokeTest
from quotas.alerts import close_alert, open_alert
from quotas.models import AlertKind, Grant
from tests import rows, working
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BOARD = "/admin/dashboard/"
PART = f"{BOARD}?refresh=15"
READS = ("SELECT", "WITH", "SAVEPOINT", "RELEASE SAVEPOINT")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def history(account, now):
    """Three jobs, and two alerts and a smoke test a count."""

    def make(count: int) -> None:
        grant = {"account": account, "kind": "image", "day": now.date(), "slots": 1000}
        Grant.objects.create(**grant, reason="test", granted_at=now)
        for number in range(count):
            for lead in (rows.saving, rows.failed, rows.lost):
                lead(account, now - number * MINUTE / 10)
            for kind in (AlertKind.CONTRADICTION, AlertKind.PROVIDER_PAUSED):
                open_alert(kind=kind, subject=f"{kind} {number}", now=now)
            Schedule.objects.create(name=f"plan {number}", func="a.b", task=f"{number}")
            Gate.objects.create(provider="sandbox", model=f"model {number}")
            SmokeTest.objects.create(
                provider="sandbox", began_at=now, ended_at=now, is_good=number % 2
            )

    return make


def queries_of(client, address: str, **kwargs) -> list[str]:
    with CaptureQueriesContext(connection) as caught:
        assert client.get(address, **kwargs).status_code == 200
    return [query["sql"] for query in caught.captured_queries]


def deeds_on(answer) -> set[str]:
    """The decisions that calls in doubt lead to."""
    links = r"/admin/providers/call/(?:\d+/)?(check-now|give-back|attach)/"
    return set(re.findall(links, answer.content.decode()))


def test_queries_are_as_many_for_three_rows_as_for_three_hundred(staff_client, history):
    history(1)
    few = queries_of(staff_client, BOARD)
    Grant.objects.all().delete()
    Schedule.objects.all().delete()
    Gate.objects.all().delete()
    history(100)
    assert Call.objects.count() >= 300
    many = queries_of(staff_client, BOARD)
    assert len(many) == len(few) == 25, "\n".join(many)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "part"])
def test_looking_writes_nothing(staff_client, history, headers):
    history(2)
    queries = queries_of(staff_client, PART, headers=headers)
    assert [sql for sql in queries if not sql.lstrip("( \n").upper().startswith(READS)] == []


def test_an_empty_site_has_a_board(staff_client):
    text = text_of(staff_client.get(BOARD))
    for words in ("No alert is open.", "No call is in doubt.", "No slots have been used today."):
        assert words in text
    assert "As of 12:00:00 UTC" in text


def test_index_leads_to_the_board(staff_client):
    assert f'href="{BOARD}"' in staff_client.get("/admin/").content.decode()


def test_index_does_not_lead_there_who_may_not_see_it(member):
    client = member("quotas.view_alert")
    assert BOARD not in client.get("/admin/").content.decode()
    assert client.get(BOARD).status_code == 403


def test_only_staff_come_in(ana_client):
    assert ana_client.get(BOARD).status_code == 302


def test_a_refresh_after_signing_out_loads_the_page_anew(client):
    answer = client.get(PART, headers=HTMX)
    assert (answer.status_code, answer.headers["HX-Refresh"]) == (200, "true")
    assert answer.content == b""


def test_board_refreshes_itself_where_its_reader_wished_so(staff_client):
    quiet, lively = (staff_client.get(page).content.decode() for page in (BOARD, PART))
    assert "hx-get" not in quiet
    assert "htmx" not in quiet
    assert 'hx-trigger="every 15s"' in lively
    assert f'href="{BOARD}">Stop refreshing' in lively


def test_a_refresh_is_the_part_alone_and_asks_again(staff_client):
    part = staff_client.get(PART, headers=HTMX).content.decode()
    assert part.strip().startswith('<div id="_board" hx-get="?refresh=15"')
    assert "<html" not in part
    assert "<svg" not in part


def test_alerts_stand_worst_first_and_closed_ones_not_at_all(now):
    open_alert(kind=AlertKind.PROVIDER_PAUSED, subject="sandbox", now=now - 9 * MINUTE)
    open_alert(kind=AlertKind.CONTRADICTION, subject="new", now=now)
    open_alert(kind=AlertKind.CONTRADICTION, subject="old", now=now - MINUTE)
    open_alert(kind=AlertKind.CONTRADICTION, subject="over", now=now - MINUTE)
    close_alert(kind=AlertKind.CONTRADICTION, subject="over", now=now)
    found = troubles.open_troubles(now)
    assert [trouble.subject for trouble in found] == ["old", "new", "sandbox"]
    assert [trouble.age for trouble in found] == [MINUTE, timedelta(), 9 * MINUTE]


def test_every_kind_of_alert_has_its_place():
    assert set(troubles.WORST_FIRST) == set(AlertKind.values)


@pytest.mark.parametrize(("subject", "leads"), [("sandbox 7", True), ("sandbox", False)])
def test_alert_about_a_paid_result_leads_to_its_call(staff_client, now, subject, leads):
    open_alert(kind=AlertKind.UNREAD, subject=subject, now=now)
    page = staff_client.get(BOARD).content.decode()
    assert ('<a href="/admin/providers/call/7/change/">Call 7</a>' in page) == leads


def test_alert_leads_to_its_page(staff_client, now):
    open_alert(kind=AlertKind.CONTRADICTION, subject="call 7", now=now)
    assert '<a href="/admin/quotas/alert/' in staff_client.get(BOARD).content.decode()


def test_a_call_in_doubt_is_told_with_its_account_and_leads_to_its_page(staff_client, account, now):
    job = rows.lost(account, now - MINUTE)
    page = staff_client.get(BOARD).content.decode()
    call = rows.call_of(job)
    assert f'href="/admin/providers/call/{call.pk}/change/"' in page
    assert f'href="/admin/jobs/job/{job.pk}/change/"' in page
    assert f"<td>{account}</td>" in page


@pytest.mark.parametrize(
    ("make", "deeds"),
    [(rows.overdue, {"check-now", "give-back"}), (rows.lost, {"give-back", "attach"})],
)
def test_a_call_in_doubt_leads_to_what_its_state_allows(
    staff_client, account, now, clock, make, deeds
):
    make(account, now)
    clock.move_to(now + timedelta(hours=1))
    assert deeds_on(staff_client.get(BOARD)) == deeds


def test_a_call_in_doubt_leads_to_what_its_reader_may(member, account, now):
    rows.lost(account, now)
    client = member("jobs.view_dashboard", "providers.view_call", "jobs.attach_reference")
    assert deeds_on(client.get(BOARD)) == {"attach"}
    assert deeds_on(client.get(PART, headers=HTMX)) == {"attach"}


def test_a_call_that_is_no_jobs_is_told_too(staff_client, now):
    opened = ledger.open_call(work="image:1", offer=rows.OFFER, now=now)
    Call.objects.filter(pk=opened.pk).update(state="unknown")
    assert "Call " in text_of(staff_client.get(BOARD))


def test_fifty_of_the_oldest_are_told(account, history, now, staff_client):
    history(60)
    page = staff_client.get(BOARD).content.decode()
    assert page.count('id="doubt-') == 50
    newest = Call.objects.filter(state="unknown").latest("sent_at")
    assert f'id="doubt-{newest.pk}"' not in page


def test_signs_of_life(alive, now):
    assert [sign.word for sign in processes.signs(now)] == ["no heartbeat yet"] * 2
    alive()
    assert [sign.word for sign in processes.signs(now)] == ["alive", "alive"]
    alive(ahead=-timedelta(minutes=5))
    assert [sign.word for sign in processes.signs(now)] == ["silent", "silent"]


def test_a_sign_from_before_the_clock_was_set_back_is_none_of_life(alive, now):
    alive(ahead=timedelta(hours=1))
    assert [sign.word for sign in processes.signs(now)] == ["silent", "silent"]


def test_workers_that_are_all_busy_are_not_called_silent(alive, account, now, settings):
    alive(ahead=-timedelta(minutes=1))
    assert working.take(rows.queued(account, now).pk, now)
    at_work, over = (dashboard.board_at(at).processes for at in (now, now + settings.LEASE_LASTS))
    assert [sign.word for sign in at_work.signs] == ["alive", "silent"]
    assert [sign.word for sign in over.signs] == ["silent", "silent"]


def test_schedules_tell_of_their_last_failure(now):
    Schedule.objects.create(name="a", func="x.y")
    Schedule.objects.create(name="b", func="x.y", task="b" * 32)
    Schedule.objects.create(name="c", func="x.y", task="c" * 32)
    Task.objects.create(id="c" * 32, name="c", func="x.y", started=now, stopped=now, success=False)
    plans = processes.schedules()
    told = processes.planned(plans, processes.last_failures(plans))
    assert [(plan.name, plan.has_failed) for plan in told] == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]
    assert told[2].ran_at == now
