"""The limiter failing open is told to staff: opened once, mailed once, closed by itself."""

from datetime import timedelta

import pytest
from django.core import mail
from django.urls import reverse

from jobs.alerts import alert_delivery, watch
from quotas.models import Alert, AlertKind, Unmeasured
from quotas.ratelimit import bypassed
from quotas.states import BypassReason
from tests.jobs.conftest import text_of

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def told(settings, clock, alive_for_a_year):
    settings.ALERT_EMAILS = ["ops@example.org"]


def fail(many: int, at) -> None:
    for _ in range(many):
        bypassed.count(BypassReason.TIMEOUT)
    bypassed.tally.flush(at)


def look(at) -> list[Alert]:
    watch.look(at)
    alert_delivery.send_due(at)
    return list(Alert.objects.open().filter(kind=AlertKind.LIMITER))


def test_it_opens_once_and_closes_when_it_is_over(now):
    assert look(now) == []
    for minute in range(5):
        fail(1000, now + minute * MINUTE)
        assert len(look(now + minute * MINUTE)) == 1
    assert look(now + 7 * MINUTE) == []
    assert Alert.objects.filter(kind=AlertKind.LIMITER).count() == 1
    assert len(mail.outbox) == 1


def test_it_opens_anew_after_it_was_closed(now):
    for at in (now, now + timedelta(hours=1)):
        fail(1, at)
        look(at)
        look(at + 3 * MINUTE)
    assert Alert.objects.filter(kind=AlertKind.LIMITER).count() == 2
    assert len(mail.outbox) == 2


def test_it_stays_one_over_midnight(now):
    midnight = now.replace(hour=23, minute=59, second=30)
    for at in (midnight, midnight + MINUTE):
        fail(1, at)
        assert len(look(at)) == 1
    assert Unmeasured.objects.count() == 2


def test_staff_see_how_many_passed_unmeasured(now, staff_client):
    fail(1234, now)
    look(now)
    page = text_of(staff_client.get(reverse("admin:quotas_unmeasured_changelist")))
    assert "the counter store does not reply in time" in page
    assert "1234" in page
    board = text_of(staff_client.get(reverse("admin:dashboard")))
    assert "rate limits · the counter store does not reply in time" in board
