"""A thousand requests to the site while the limits' Redis is broken in each way: all are answered
as without limits, the broken store is left alone, staff are told once, and it heals by itself."""

import threading
import uuid
from datetime import timedelta

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from jobs.alerts import watch
from jobs.people.visitors import COOKIE, COOKIE_SALT
from jobs.web import middleware
from quotas.models import Alert, AlertKind, Unmeasured
from quotas.ratelimit import bypassed
from quotas.ratelimit.breaker import FAILURES, THREADS
from quotas.ratelimit.limiter import in_redis
from tests.quotas.broken_store import WAYS, relay_to
from tests.site_process import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.redis]
MANY = 1000


@pytest.fixture
def relay(redis_url, settings, monkeypatch):
    """Its answers have the time that a busy machine takes for them."""
    monkeypatch.setattr("quotas.ratelimit.limiter.BUDGET", 0.2)
    settings.Q_CLUSTER = {"name": f"test-{uuid.uuid4()}"}
    with relay_to(redis_url) as relay:
        limiter = in_redis(relay.url)
        monkeypatch.setattr(middleware, "limiter", lambda: limiter)
        yield relay


@pytest.fixture
def visitor() -> Client:
    client = Client()
    client.cookies[COOKIE] = signing.get_cookie_signer(COOKIE + COOKIE_SALT).sign("v1")
    return client


def statuses(visitor: Client, many: int = MANY) -> set[int]:
    """An address that takes forms alone: the cheapest answer of the site."""
    return {visitor.get("/theme").status_code for _ in range(many)}


def open_alerts(now) -> int:
    bypassed.tally.flush(now)
    watch.look(now)
    return Alert.objects.open().filter(kind=AlertKind.LIMITER).count()


@pytest.mark.parametrize("way", WAYS)
def test_all_are_answered_and_staff_are_told_until_it_is_back(relay, visitor, way):
    now = timezone.now()
    assert statuses(visitor, 10) == {405}
    asked, relay.way = relay.asked, way
    relay.drop()
    assert statuses(visitor) == {405}
    # Three failures, one question a second since, and some messages for a question.
    seconds = (timezone.now() - now).total_seconds()
    assert relay.asked - asked <= 8 * (FAILURES + THREADS + seconds)
    assert open_alerts(now) == 1
    assert sum(Unmeasured.objects.values_list("requests", flat=True)) >= MANY - 5
    relay.way = "through"
    wait_until(lambda: 429 in statuses(visitor, 101))
    bypassed.tally.flush(now)
    assert open_alerts(now + timedelta(minutes=5)) == 0
    assert Alert.objects.filter(kind=AlertKind.LIMITER).count() == 1


def test_it_is_killed_in_the_middle_of_a_request(relay, visitor):
    killer = threading.Timer(0.1, relay.drop)
    killer.start()
    relay_gone = threading.Timer(0.1, setattr, [relay, "way", "gone"])
    relay_gone.start()
    people = [_someone(number) for number in range(MANY // 10)]
    assert {code for person in people for code in statuses(person, 10)} == {405}
    killer.join()
    relay_gone.join()
    assert bypassed.tally.unflushed()


def _someone(number: int) -> Client:
    client = Client()
    client.cookies[COOKIE] = signing.get_cookie_signer(COOKIE + COOKIE_SALT).sign(f"v{number}")
    return client
