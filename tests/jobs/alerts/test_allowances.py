"""What is metered elsewhere is told at 50, 80 and 100 %, from rows, and closes by itself."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from django.core import mail
from django.db import connection

from jobs.alerts import alert_delivery, allowances, watch
from jobs.core.models import Job, Picture
from providers.calls.models import Call
from quotas.models import Alert, AlertKind
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
GB = 10**9


@pytest.fixture
def look(clock, settings):
    """Subjects of the kind's open alerts, after a look and the sending after it."""
    settings.ALERT_EMAILS = ["ops@example.org"]

    def look(at: datetime) -> list[str]:
        clock.move_to(at)
        watch.look(at)
        alert_delivery.send_due(at)
        open_ones = Alert.objects.open().filter(kind=AlertKind.ALLOWANCE).order_by("pk")
        return list(open_ones.values_list("subject", flat=True))

    return look


@pytest.fixture
def used(settings, now):
    """used(name): how much of it."""

    def used(name: str, at: datetime = now) -> int:
        [use] = [use for use in allowances.in_use(at) if use.name == name]
        return use.used

    return used


def told() -> int:
    return sum("usage of an external quota" in message.subject for message in mail.outbox)


def send(account, at: datetime, times: int) -> None:
    for _ in range(times):
        rows.generating(account, at)


@pytest.mark.parametrize(
    ("sent", "steps"),
    [(4, []), (5, [50]), (7, [50]), (8, [50, 80]), (9, [50, 80]), (10, [50, 80, 100])],
)
def test_each_step_of_an_allowance_is_told(look, account, now, settings, sent, steps):
    settings.ALLOWANCES = {"sandbox": (10, "day")}
    send(account, now, sent)
    assert look(now + MINUTE) == [f"sandbox {step} %" for step in steps]


def test_it_is_told_once_and_closes_with_the_providers_day(look, account, now, settings):
    settings.ALLOWANCES = {"sandbox": (2, "day")}
    send(account, now, 1)
    for minutes in range(1, 4):
        assert look(now + minutes * MINUTE) == ["sandbox 50 %"]
    assert told() == 1
    assert look(now + DAY) == []
    alert = Alert.objects.get(kind=AlertKind.ALLOWANCE)
    assert (alert.words, alert.closed_at) == ("1 of 2 used today", now + DAY)


def test_it_stands_on_the_dashboard(look, account, now, settings, staff_client):
    settings.ALLOWANCES = {"sandbox": (1, "month")}
    send(account, now, 1)
    look(now + MINUTE)
    shown = text_of(staff_client.get("/admin/dashboard/"))
    assert "sandbox 100 %" in shown
    assert "1 of 1 used this month" in shown


def test_an_allowance_nobody_named_is_not_looked_for(look, account, now, settings):
    settings.ALLOWANCES = {}
    send(account, now, 1)
    assert look(now + MINUTE) == []


@pytest.mark.parametrize(("per", "found"), [("day", 1), ("month", 2)])
def test_requests_are_those_of_the_providers_own_calendar(
    account, now, settings, used, monkeypatch, per, found
):
    """Nine hours ahead its month began when it was 15:00 UTC of the day before."""
    there = SimpleNamespace(caps=SimpleNamespace(day_zone="Asia/Tokyo"))
    settings.ALLOWANCES = {"sandbox": (10, per)}
    for at in (
        datetime(2026, 2, 28, 14, 59, tzinfo=UTC),
        datetime(2026, 2, 28, 15, 1, tzinfo=UTC),
        datetime(2026, 3, 13, 15, 1, tzinfo=UTC),
    ):
        send(account, at - 2 * rows.SECOND, 1)
    monkeypatch.setattr("providers.calls.money.find_provider", lambda name: there)
    assert used("sandbox") == found


def test_what_never_left_is_no_request_and_what_was_refused_is(account, now, settings, used):
    settings.ALLOWANCES = {"sandbox": (10, "day")}
    rows.failed(account, now)
    never = rows.call_of(rows.failed(account, now))
    Call.objects.filter(pk=never.pk).update(rule="never_connected")
    assert used("sandbox") == 1


def test_another_providers_requests_do_not_count(account, now, settings, used):
    settings.ALLOWANCES = {"polza": (10, "day")}
    send(account, now, 1)
    assert used("polza") == 0


def test_mail_is_counted_for_each_who_gets_it(account, now, settings, used):
    settings.ALERT_EMAILS = ["ops@example.org", "more@example.org"]
    settings.ALLOWANCES = {"mail": (10, "day")}
    alert = {"kind": AlertKind.SILENT, "opened_at": now, "seen_at": now}
    Alert.objects.create(**alert, subject="ticker", mailed_at=now)
    Alert.objects.create(**alert, subject="cluster")
    for at in (now, now - DAY):
        Job.objects.filter(pk=rows.failed(account, at).pk).update(notified_at=at)
    assert used("mail") == 3


def test_mail_of_the_month_begins_with_it(account, now, settings, used):
    settings.ALLOWANCES = {"mail": (10, "month")}
    for at in (now.replace(day=1), now.replace(day=1) - DAY):
        Job.objects.filter(pk=rows.failed(account, at).pk).update(notified_at=at)
    assert used("mail") == 1


def test_storage_is_what_is_kept_and_closes_when_some_is_gone(look, account, now, settings):
    settings.ALLOWANCES = {"storage": (GB, "bytes")}
    job = rows.ready(account, now)
    Picture.objects.update(size=800_000_000)
    assert look(now + MINUTE) == ["storage 50 %", "storage 80 %"]
    assert Alert.objects.filter(words="800.0 MB of 1.0 GB used").count() == 2
    job.pictures.all().delete()
    assert look(now + 2 * MINUTE) == []


def test_an_empty_site_has_stored_nothing(settings, used):
    settings.ALLOWANCES = {"storage": (GB, "bytes")}
    assert used("storage") == 0


def test_the_database_tells_its_own_size(settings, used):
    settings.ALLOWANCES = {"database": (1000 * GB, "bytes")}
    assert 100_000 < used("database") < GB


def test_mails_of_a_day_are_found_by_their_index(now):
    """Without reading all jobs there are."""
    mailed = Job.objects.filter(notified_at__gte=now).values("pk")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    assert "job_mailed" in mailed.explain()
