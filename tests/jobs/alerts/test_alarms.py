"""Each alert is made to happen: it opens once, stays while its trouble lasts, and closes by itself.

Every case leads the rows to the trouble by the real services, and then to its end.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core import mail
from django.db import OperationalError, transaction

from jobs.alerts import alert_delivery, watch
from jobs.core import heartbeats
from jobs.core.models import Heartbeat
from jobs.core.works import work_of
from jobs.engine import incoming
from jobs.processes import tasks
from jobs.processes.ticker import LOOK_AFTER, Ticker
from providers.adapters.registry import Offer
from providers.calls.models import Call, Gate
from providers.outcomes import Accepted, Cause, Failed, Rejected
from providers.routing import gates
from providers.routing.pool import Candidate
from quotas.models import Alert, AlertKind
from tests import rows, working

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("clock", "alive_for_a_year", "enqueued", "told"),
]

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def told(settings):
    settings.ALERT_EMAILS = ["ops@example.org"]


@pytest.fixture
def look(clock):
    """A look, and the sending after it; the subjects of the kind's open alerts."""

    def look(at, kind: AlertKind | None = None) -> list[str]:
        clock.move_to(at)
        watch.look(at)
        alert_delivery.send_due(at)
        found = Alert.objects.open().order_by("pk")
        return list((found.filter(kind=kind) if kind else found).values_list("subject", flat=True))

    return look


def test_a_site_at_rest_has_no_alert(look, account, now):
    for way in (rows.ready, rows.failed, rows.cancelled, rows.generating):
        way(account, now)
    assert look(now + MINUTE) == []


# The troubles, each with what makes it and what ends it


def lost_call(account, now):
    job = rows.lost(account, now)
    call = rows.call_of(job)

    def end():
        incoming.give_up(call, call.give_up_at)

    return call.answer_by + HOUR, end


def late_run(account, now):
    """Past its deadline for an hour, while it is still asked about."""
    job = rows.overdue(account, now)
    call = rows.call_of(job)

    def end():
        rows.news(job, Failed(Cause("provider")), call.deadline_at + HOUR + MINUTE)

    return call.deadline_at + HOUR, end


CASES: dict[str, Callable] = {"lost": lost_call, "late": late_run}


@pytest.mark.parametrize("case", CASES)
def test_in_doubt_for_an_hour(case, look, account, now):
    at, end = CASES[case](account, now)
    assert look(at - MINUTE, AlertKind.IN_DOUBT) == []
    assert look(at, AlertKind.IN_DOUBT) == ["sandbox"]
    assert look(at + MINUTE, AlertKind.IN_DOUBT) == ["sandbox"]
    end()
    assert look(at + 2 * MINUTE, AlertKind.IN_DOUBT) == []
    assert Alert.objects.filter(kind=AlertKind.IN_DOUBT).count() == 1


def test_many_calls_in_doubt_are_one_alert_that_counts_them(look, account, now):
    for _ in range(5):
        rows.lost(account, now)
    assert look(now + 2 * HOUR, AlertKind.IN_DOUBT) == ["sandbox"]
    assert Alert.objects.open().get(kind=AlertKind.IN_DOUBT).words.startswith("5 calls")
    assert len(mail.outbox) == 1


def test_a_missed_deadline_is_told_for_an_hour(look, account, now):
    call = rows.call_of(rows.generating(account, now))
    assert look(call.deadline_at - MINUTE, AlertKind.OVERDUE) == []
    assert look(call.deadline_at, AlertKind.OVERDUE) == ["sandbox"]
    assert look(call.deadline_at + HOUR - MINUTE, AlertKind.OVERDUE) == ["sandbox"]
    assert look(call.deadline_at + HOUR, AlertKind.OVERDUE) == []
    assert [message.subject for message in mail.outbox].count(
        "Alert: deadline missed: sandbox · Counterfoil"
    ) == 1


def test_an_alert_says_when_it_opened_was_last_seen_and_closed(look, account, now):
    at = rows.call_of(rows.generating(account, now)).deadline_at
    for minutes in (0, 10, 60):
        look(at + minutes * MINUTE)
    alert = Alert.objects.get(kind=AlertKind.OVERDUE)
    assert alert.opened_at == at
    assert alert.seen_at == at + 10 * MINUTE
    assert alert.closed_at == at + HOUR


def test_a_run_that_came_late_has_missed_its_deadline_too(look, account, now):
    job = rows.generating(account, now)
    deadline = rows.call_of(job).deadline_at
    rows.news(job, rows._done(), deadline + MINUTE)
    assert look(deadline + 2 * MINUTE, AlertKind.OVERDUE) == ["sandbox"]


def test_a_run_that_came_in_time_has_missed_nothing(look, account, now):
    job = rows.ready(account, now)
    assert look(rows.call_of(job).deadline_at + MINUTE) == []


def test_a_lost_request_has_missed_no_deadline_of_a_provider(look, account, now):
    call = rows.call_of(rows.lost(account, now))
    assert look(call.deadline_at + MINUTE, AlertKind.OVERDUE) == []


def test_a_contradiction_is_told_for_a_day(look, account, now):
    rows.ready_late(account, now)
    [opened] = look(now + MINUTE, AlertKind.CONTRADICTION)
    assert opened.startswith("sandbox ")
    assert look(now + timedelta(hours=23), AlertKind.CONTRADICTION) == [opened]
    assert look(now + timedelta(hours=25), AlertKind.CONTRADICTION) == []
    assert len(mail.outbox) == 1


@pytest.fixture
def budget(settings):
    """Twenty pictures of five roubles a day."""
    known = settings.PROVIDER_ACCOUNTS
    capped = replace(known["sandbox"], daily_cap=(Decimal("100.00"), "RUB"))
    settings.PROVIDER_ACCOUNTS = known | {"sandbox": capped}


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize(
    ("spent", "steps"),
    [
        ("49.99", []),
        ("50", ["50 %"]),
        ("80", ["50 %", "80 %"]),
        # One more of five roubles would be too much.
        ("95.01", ["50 %", "80 %", "100 %"]),
        ("130", ["50 %", "80 %", "100 %"]),
    ],
)
def test_each_step_of_the_budget_is_told(look, account, now, spent, steps):
    call = rows.call_of(rows.ready(account, now))
    Call.objects.filter(pk=call.pk).update(cost=Decimal(spent))
    assert look(now + MINUTE) == [f"sandbox {step}" for step in steps]


@pytest.mark.usefixtures("budget")
def test_the_budget_is_told_once_a_day_of_the_provider(look, account, now):
    call = rows.call_of(rows.ready(account, now))
    Call.objects.filter(pk=call.pk).update(cost=Decimal(60))
    for minutes in range(3):
        assert look(now + minutes * MINUTE) == ["sandbox 50 %"]
    assert look(now + timedelta(days=1)) == []
    assert [message.subject for message in mail.outbox] == [
        "Alert: daily budget: sandbox 50 % · Counterfoil"
    ]


def test_without_a_cap_no_budget_is_told(look, account, now):
    Call.objects.filter(pk=rows.call_of(rows.ready(account, now)).pk).update(cost=9999)
    assert look(now + MINUTE) == []


def test_a_refused_key_is_told_at_once_and_closed_by_the_next_success(look, order, fake, now):
    refuse(order(), Cause("auth", rule="refused", http=401), now)
    assert look(now + MINUTE) == ["fake"]
    job = order()
    with_call(job, Accepted("run-1"), now + 2 * HOUR)
    assert look(now + 2 * HOUR + MINUTE) == []
    assert len(mail.outbox) == 1


def test_staff_who_let_requests_in_again_close_the_alert_of_the_key(look, order, fake, now):
    refuse(order(), Cause("balance", rule="refused", http=402), now)
    assert look(now + MINUTE) == ["fake"]
    gates.resume("fake")
    assert look(now + 2 * MINUTE) == []


def test_pauses_that_follow_each_other_for_five_minutes_are_told(look, order, fake, now):
    for minutes in (0, 2, 4):
        refuse(order(), Cause("provider", rule="own_error", http=500), now + minutes * MINUTE)
        assert look(now + minutes * MINUTE + timedelta(seconds=1)) == []
    assert look(now + 5 * MINUTE) == ["fake:brush-1"]
    assert look(now + 8 * MINUTE) == ["fake:brush-1"]
    with_call(order(), Accepted("run-1"), now + 9 * MINUTE)
    assert look(now + 9 * MINUTE + timedelta(seconds=5)) == []
    assert len(mail.outbox) == 1


def test_a_pause_that_ran_out_untried_is_no_trouble(look, order, fake, now):
    refuse(order(), Cause("provider", rule="own_error", http=500), now)
    assert look(now + 6 * MINUTE) == []
    assert Gate.objects.filter(model="brush-1", paused_until__isnull=False).exists()


def test_an_error_after_a_quiet_week_is_no_long_pause(look, order, fake, now):
    later = now + timedelta(days=7)
    for at in (now, later):
        refuse(order(), Cause("provider", rule="own_error", http=500), at)
    assert look(later + MINUTE / 60) == []
    assert Gate.objects.get(model="brush-1").blocked_since == later


def test_long_pauses_that_follow_each_other_are_one(look, order, fake, now):
    """Of ten minutes each, with the next request soon after."""
    for minutes in (0, 11, 22):
        with_call(order(), Rejected(Cause("rate", retry_after=600.0)), now + minutes * MINUTE)
    assert look(now + 23 * MINUTE) == ["fake"]
    assert Gate.objects.get(model="").blocked_since == now


def test_a_pause_of_staffs_own_hand_is_not_told_to_them(look, now, fake):
    Gate.objects.create(
        provider="fake", paused_until=now + HOUR, why=gates.STAFF, since=now, blocked_since=now
    )
    assert look(now + 10 * MINUTE) == []


@pytest.mark.parametrize(("name", "subject"), [("ticker", "ticker"), ("worker", "cluster")])
def test_a_minute_of_silence_is_told_until_the_next_sign_of_life(look, now, name, subject):
    beat = Heartbeat.objects.filter(name=name)
    beat.update(beat_at=now)
    assert look(now + timedelta(seconds=59), AlertKind.SILENT) == []
    assert look(now + MINUTE, AlertKind.SILENT) == [subject]
    beat.update(beat_at=now + 2 * MINUTE)
    assert look(now + 2 * MINUTE, AlertKind.SILENT) == []
    assert len(mail.outbox) == 1


def test_a_part_that_never_was_there_is_silent(look, now):
    Heartbeat.objects.all().delete()
    assert look(now, AlertKind.SILENT) == ["ticker", "cluster"]


def test_workers_that_are_all_sending_are_not_silent(look, account, now, settings):
    Heartbeat.objects.filter(name="worker").update(beat_at=now - HOUR)
    job = rows.queued(account, now)
    assert working.take(job.pk, now)
    assert look(now + timedelta(seconds=10), AlertKind.SILENT) == []


# The look itself


def test_what_comes_back_after_its_end_is_told_anew(look, now):
    beat = Heartbeat.objects.filter(name="ticker")
    for hours in (0, 1):
        beat.update(beat_at=now + hours * HOUR)
        look(now + hours * HOUR + 2 * MINUTE)
        beat.update(beat_at=now + hours * HOUR + 3 * MINUTE)
        look(now + hours * HOUR + 3 * MINUTE)
    assert Alert.objects.filter(kind=AlertKind.SILENT, closed_at__isnull=False).count() == 2
    assert len(mail.outbox) == 2


def test_a_watch_that_breaks_stops_no_other_and_closes_nothing(look, now, monkeypatch, caplog):
    Heartbeat.objects.filter(name="ticker").update(beat_at=now)
    look(now + MINUTE)
    monkeypatch.setitem(watch.WATCHES, AlertKind.SILENT, lambda now: 1 / 0)
    monkeypatch.setitem(watch.WATCHES, AlertKind.SPEND, lambda now: [watch.Trouble("x 50 %")])
    assert look(now + 2 * MINUTE) == ["ticker", "x 50 %"]
    assert "cannot tell" in caplog.text


def test_a_database_that_is_away_is_not_a_watch_that_breaks(now, monkeypatch):
    def away(now):
        raise OperationalError

    monkeypatch.setitem(watch.WATCHES, AlertKind.SILENT, away)
    with pytest.raises(OperationalError):
        watch.look(now)


def test_what_was_met_since_the_look_began_stays_open(now):
    later = now + timedelta(seconds=5)
    kind = AlertKind.PROVIDER_PAUSED
    watch.alerts.open_alert(kind=kind, subject="polza", now=later)
    watch.look(now)
    assert Alert.objects.open().count() == 1


def test_one_of_all_looks_a_minute(now):
    assert [watch.look_if_due(now + timedelta(seconds=s)) for s in (0, 5, 49, 50, 60, 100)] == [
        True, False, False, True, False, True,
    ]  # fmt: skip


def test_a_clock_that_was_set_back_stops_no_look(now):
    assert watch.look_if_due(now + timedelta(days=1))
    assert watch.look_if_due(now)
    assert not watch.look_if_due(now)


def test_a_worker_looks_by_schedule_and_sends(clock, now):
    Heartbeat.objects.filter(name="ticker").update(beat_at=now - HOUR)
    tasks.look_for_alarms()
    assert [alert.subject for alert in Alert.objects.open()] == ["ticker"]
    assert len(mail.outbox) == 1


def test_the_ticker_looks_a_minute_after_its_start_and_sends(clock, now, monkeypatch):
    Heartbeat.objects.filter(name="worker").update(beat_at=now - HOUR)
    monkeypatch.setattr(heartbeats, "ask_cluster", lambda now: None)
    active = Ticker()
    active.tick()
    assert not Alert.objects.exists()
    active._look_at -= LOOK_AFTER
    active.tick()
    assert [alert.subject for alert in Alert.objects.open()] == ["cluster"]
    for sending in active.posts.sending:
        sending.result(10)
    active.tick()
    active.close()
    assert not active.posts.sending
    assert len(mail.outbox) == 1


def test_the_look_asks_as_much_of_a_full_table_as_of_an_empty_one(
    account, now, django_assert_max_num_queries
):
    for _ in range(4):
        rows.lost(account, now)
    with django_assert_max_num_queries(36):
        watch.look(now + 2 * HOUR)


def with_call(job, answer, at):
    """A job's request, let in by the gate and answered as the sender follows it."""
    offer = Offer(job.params["provider"], job.params["model"])
    with transaction.atomic():
        call = gates.enter(work=work_of(job.pk), candidate=Candidate(offer), now=at)
    assert isinstance(call, Call), call
    incoming.follow_submit(call, answer, at)


def refuse(job, why: Cause, at):
    with_call(job, Rejected(why), at)
