"""The staff's board: what it tells, to whom, at what cost; and the two decisions taken from it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django_q.models import Schedule, Task

from jobs.board import figures, house, standing, troubles, use
from jobs.models import Job
from providers import gates, ledger
from providers.models import Call, Gate
from providers.pool import Candidate
from quotas import accounts
from quotas.alerts import close_alert, open_alert
from quotas.models import AlertKind, Grant, Plan
from quotas.spenders import spending_of
from tests import rows
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BOARD = "/admin/dashboard/"
PART = f"{BOARD}?refresh=15"
PAUSE, RESUME = f"{BOARD}sandbox/pause/", f"{BOARD}sandbox/resume/"
READS = ("SELECT", "WITH", "SAVEPOINT", "RELEASE SAVEPOINT")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def history(account, now):
    """Three jobs and three alerts a count."""

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

    return make


@pytest.fixture
def member(db):
    """member("jobs.view_dashboard") is a browser of staff with these permissions alone."""

    def come(*names: str) -> Client:
        user = get_user_model().objects.create_user("mo", password="mo", is_staff=True)
        for name in names:
            app, codename = name.split(".")
            user.user_permissions.add(
                Permission.objects.get(content_type__app_label=app, codename=codename)
            )
        client = Client()
        client.force_login(user)
        return client

    return come


def queries_of(client, address: str, **kwargs) -> list[str]:
    with CaptureQueriesContext(connection) as caught:
        assert client.get(address, **kwargs).status_code == 200
    return [query["sql"] for query in caught.captured_queries]


def standing_of(name: str, now) -> standing.Standing:
    found = standing.Rows(
        gates=standing.gates_by_provider(),
        recent=standing.recent_by_offer(),
        answers=standing.answers_by_provider(now),
    )
    return {each.name: each for each in standing.standings(found, now)}[name]


def enter(now):
    with transaction.atomic():
        return gates.enter(work="image:1", candidate=Candidate(rows.OFFER), now=now)


def test_queries_are_as_many_for_three_rows_as_for_three_hundred(staff_client, history):
    history(1)
    few = queries_of(staff_client, BOARD)
    Grant.objects.all().delete()
    Schedule.objects.all().delete()
    Gate.objects.all().delete()
    history(100)
    assert Call.objects.count() >= 300
    many = queries_of(staff_client, BOARD)
    assert len(many) == len(few) == 23, "\n".join(many)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "part"])
def test_looking_writes_nothing(staff_client, history, headers):
    history(2)
    queries = queries_of(staff_client, PART, headers=headers)
    assert [sql for sql in queries if not sql.lstrip("( \n").upper().startswith(READS)] == []


def test_an_empty_site_has_a_board(staff_client):
    text = text_of(staff_client.get(BOARD))
    for words in ("No alert is open.", "No call is in doubt.", "Nobody has used a slot today."):
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


def test_alert_leads_to_its_page(staff_client, now):
    open_alert(kind=AlertKind.CONTRADICTION, subject="call 7", now=now)
    assert '<a href="/admin/quotas/alert/' in staff_client.get(BOARD).content.decode()


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


def test_use_of_thirty_days(account, now):
    rows.ready(account, now)
    rows.failed(account, now)
    rows.lost(account, now - timedelta(days=29))
    rows.lost(account, now - timedelta(days=30))
    days = use.use_until(now.date())
    assert len(days) == 30
    assert days[-1] == use.DayOfUse(now.date(), success=1, failed=1)
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
    spending = spending_of(now.date())
    assert (spending.spenders, spending.at_limit) == (2, 1)
    assert [(s.account_id, s.used, s.on_hold, s.allowed) for s in spending.top] == [
        (account.pk, 4, 0, 10),
        (visitor.pk, 0, 3, 3),
    ]


def test_a_grant_lifts_the_limit(visitor, now):
    for _ in range(3):
        rows.lost(visitor, now)
    extra = {"account": visitor, "kind": "image", "reason": "test", "granted_at": now, "slots": 1}
    Grant.objects.create(day=now.date() - timedelta(days=1), **extra)
    assert spending_of(now.date()).at_limit == 1
    Grant.objects.create(day=now.date(), **extra)
    assert spending_of(now.date()).at_limit == 0


def test_ten_are_named_and_all_are_counted(now):
    plan = Plan.objects.get(name="free")
    for number in range(12):
        account = accounts.ensure_saved(accounts.account_named(f"n{number}"), now=now)
        type(account).objects.filter(pk=account.pk).update(plan=plan)
        rows.lost(account, now)
    spending = spending_of(now.date())
    assert (len(spending.top), spending.spenders) == (10, 12)


def test_nobody_spent_anything(now):
    assert spending_of(now.date()).top == ()


def test_a_provider_that_works(account, now):
    rows.saving(account, now)
    found = standing_of("sandbox", now)
    assert (found.state.tone, found.may_be_paused, found.may_be_resumed) == ("up", True, False)
    assert found.last_success_at == now + 5 * rows.SECOND
    assert found.answers == standing.Answers(sent=1)


def test_a_provider_that_nobody_may_ask_for_says_so(now):
    assert standing_of("polza", now).state.tone == "unused"


def test_errors_are_counted_by_kind_within_a_day(account, now):
    for ago in (0, 1, 23, 25):
        rows.failed(account, now - timedelta(hours=ago), why="provider")
    rows.failed(account, now, why="content")
    rows.ready(account, now)
    answers = standing_of("sandbox", now).answers
    assert answers.sent == 5
    assert answers.errors == (("its own failure", 3), ("prompt refused", 1))
    assert answers.error_percent == 80


@pytest.mark.parametrize(
    ("columns", "tone", "word"),
    [
        ({"paused_until": MINUTE}, "paused", "Paused until 14 Mar 12:01:00 UTC"),
        ({"exhausted_until": MINUTE}, "paused", "Paused until 14 Mar 12:01:00 UTC"),
        ({"paused_until": -MINUTE}, "paused", "One request is let in to see"),
    ],
)
def test_a_shut_gate_says_until_when_and_why(now, columns, tone, word):
    moments = {name: now + later for name, later in columns.items()}
    Gate.objects.create(provider="sandbox", why="rate", since=now - MINUTE, **moments)
    state = standing_of("sandbox", now).state
    assert (state.tone, state.word, state.why) == (tone, word, "too many requests")
    assert state.since == now - MINUTE


def test_a_provider_is_failing_while_one_of_its_models_is_shut(now):
    Gate.objects.create(
        provider="sandbox", model="m", why="provider", since=now, paused_until=now + MINUTE
    )
    found = standing_of("sandbox", now)
    assert (found.state.tone, found.may_be_resumed) == ("failing", True)
    assert [model for model, _ in found.shut_models] == ["m"]


def test_spend_stands_against_the_cap(staff_client, account, now, settings):
    capped = replace(settings.PROVIDER_ACCOUNTS["sandbox"], daily_cap=(Decimal(10), "RUB"))
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"sandbox": capped}
    rows.saving(account, now)
    page = staff_client.get(BOARD).content.decode()
    assert 'max="10.0000" value="5.0000"' in page
    assert "5.00 / 10.00 RUB" in page
    assert "cap reached" not in page
    rows.saving(account, now)
    assert "cap reached" in staff_client.get(BOARD).content.decode()


def test_a_call_in_doubt_is_told_with_its_account_and_leads_to_its_page(staff_client, account, now):
    job = rows.lost(account, now - MINUTE)
    page = staff_client.get(BOARD).content.decode()
    call = rows.call_of(job)
    assert f'href="/admin/providers/call/{call.pk}/change/"' in page
    assert f'href="/admin/jobs/job/{job.pk}/change/"' in page
    assert f"<td>{account}</td>" in page


def test_a_call_that_is_no_jobs_is_told_too(staff_client, now):
    Call.objects.filter(pk=enter(now).pk).update(state="unknown")
    assert "Call " in text_of(staff_client.get(BOARD))


def test_fifty_of_the_oldest_are_told(account, history, now, staff_client):
    history(60)
    page = staff_client.get(BOARD).content.decode()
    assert page.count('id="doubt-') == 50
    newest = Call.objects.filter(state="unknown").latest("sent_at")
    assert f'id="doubt-{newest.pk}"' not in page


def test_signs_of_life(alive, now):
    assert [sign.word for sign in house.signs(now)] == ["no sign of life yet"] * 2
    alive()
    assert [sign.word for sign in house.signs(now)] == ["alive", "alive"]
    alive(timedelta(minutes=5))
    assert [sign.word for sign in house.signs(now)] == ["silent", "silent"]


def test_schedules_tell_of_their_last_failure(now):
    Schedule.objects.create(name="a", func="x.y")
    Schedule.objects.create(name="b", func="x.y", task="b" * 32)
    Schedule.objects.create(name="c", func="x.y", task="c" * 32)
    Task.objects.create(id="c" * 32, name="c", func="x.y", started=now, stopped=now, success=False)
    plans = house.schedules()
    told = house.planned(plans, house.last_failures(plans))
    assert [(plan.name, plan.has_failed) for plan in told] == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]
    assert told[2].ran_at == now


def test_pausing_is_asked_first(staff_client):
    assert "Pause sandbox?" in text_of(staff_client.get(PAUSE))
    assert not Gate.objects.exists()


def test_pausing_needs_a_reason(staff_client):
    answer = staff_client.post(PAUSE, {"reason": " "})
    assert answer.status_code == 422
    assert "This field is required." in text_of(answer)
    assert not Gate.objects.exists()


def test_staff_pause_and_resume_and_it_is_written_down(staff_client, staff, now):
    answer = staff_client.post(PAUSE, {"reason": "too dear today"}, follow=True)
    assert "Paused: sandbox." in text_of(answer)
    assert "Paused by staff" in text_of(answer)
    assert enter(now).why == gates.STAFF
    staff_client.post(RESUME, {"reason": "a new day"})
    assert isinstance(enter(now), Call)
    entries = LogEntry.objects.order_by("pk")
    assert [(entry.user_id, entry.change_message) for entry in entries] == [
        (staff.pk, "Paused by staff: too dear today"),
        (staff.pk, "Resumed by staff: a new day"),
    ]


@pytest.mark.parametrize("page", [PAUSE, RESUME])
def test_what_is_so_already_is_not_written_down_again(staff_client, page):
    if page == PAUSE:
        staff_client.post(page, {"reason": "first"})
    before = LogEntry.objects.count()
    answer = staff_client.post(page, {"reason": "again"}, follow=True)
    assert LogEntry.objects.count() == before
    said = {PAUSE: "Paused already: sandbox.", RESUME: "Nothing was paused: sandbox."}[page]
    assert said in text_of(answer)


@pytest.mark.parametrize("page", [PAUSE, RESUME])
def test_to_see_the_board_is_not_to_decide(member, page):
    client = member("jobs.view_dashboard")
    assert client.get(BOARD).status_code == 200
    assert "/pause/" not in client.get(BOARD).content.decode()
    assert client.post(page, {"reason": "mine"}).status_code == 403
    assert not Gate.objects.exists()


def test_who_may_decide_decides(member):
    client = member("jobs.view_dashboard", "providers.change_gate")
    assert client.post(PAUSE, {"reason": "mine"}).status_code == 302
    assert Gate.objects.get().why == "staff"


def test_nobody_pauses_what_is_not_there(staff_client):
    assert staff_client.post(f"{BOARD}nobody/pause/", {"reason": "x"}).status_code == 404
    assert not Gate.objects.exists()


def test_work_waits_while_staff_have_shut_its_provider(account, now, staff_client):
    staff_client.post(PAUSE, {"reason": "x"})
    assert enter(now) == gates.Closed("staff", now + gates.STAFF_AGAIN)
    assert ledger.live_call_of("image:1") is None


def resume_in_list(client, gate: Gate):
    fields = {"action": "resume", "_selected_action": [str(gate.pk)]}
    return client.post("/admin/providers/gate/", fields, follow=True)


def test_resuming_in_the_list_of_gates_is_written_down_too(staff_client, staff, now):
    gates.pause("sandbox", now)
    assert "shut by staff" in text_of(staff_client.get("/admin/providers/gate/"))
    resume_in_list(staff_client, Gate.objects.get())
    assert isinstance(enter(now), Call)
    assert LogEntry.objects.get().user_id == staff.pk


def test_to_see_the_gates_is_not_to_open_them(member, now):
    gates.pause("sandbox", now)
    resume_in_list(member("providers.view_gate"), Gate.objects.get())
    assert Gate.objects.get().why == "staff"
