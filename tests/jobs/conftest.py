"""What these tests share: browsers of the four people, a folder for files, a ticker."""

import re
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core import signing
from django.db import connection
from django.test import Client
from django.utils import timezone

from jobs.core import heartbeats
from jobs.core.models import Heartbeat, Job
from jobs.people.visitors import COOKIE, COOKIE_SALT
from jobs.processes.ticker import Ticker
from tests import rows
from tests.site_process import wait_until

HTMX = {"HX-Request": "true"}


def text_of(response) -> str:
    """What a reader sees, with single spaces."""
    page = re.sub(r"<(script|style|title).*?</\1>", " ", response.content.decode(), flags=re.S)
    page = re.sub(r"<[^>]+>", " ", page).replace("&#x27;", "'")
    return " ".join(page.split())


@pytest.fixture
def clock(now):
    with time_machine.travel(now, tick=False) as traveller:
        yield traveller


@pytest.fixture
def ticker():
    ticker = Ticker()
    yield ticker
    ticker.close()


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    return settings.MEDIA_ROOT


@pytest.fixture(autouse=True)
def no_beat_yet(monkeypatch):
    """The process, too, remembers when it last beat."""
    monkeypatch.setattr(heartbeats, "_beaten", dict.fromkeys(heartbeats._beaten, float("-inf")))


@pytest.fixture
def alive(db) -> Callable[[], None]:
    """Ticker and cluster beat now."""

    def beat(ahead: timedelta = timedelta()) -> None:
        for name in ("ticker", "worker"):
            beat_at = timezone.now() + ahead
            Heartbeat.objects.update_or_create(name=name, defaults={"beat_at": beat_at})

    return beat


@pytest.fixture
def alive_for_a_year(alive, monkeypatch) -> None:
    """Unless a test says otherwise both beat at whatever time it is."""
    year = timedelta(days=365)
    monkeypatch.setattr(heartbeats, "CLOCKS_DIFFER", year * 2)
    alive(ahead=year)


@pytest.fixture
def ana_client(ana) -> Client:
    return _signed_in(ana)


@pytest.fixture
def ben_client(ben) -> Client:
    return _signed_in(ben)


@pytest.fixture
def staff_client(staff) -> Client:
    return _signed_in(staff)


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


@pytest.fixture
def visitor_client(visitor) -> Client:
    """The browser of the account `visitor`."""
    client = Client()
    client.cookies[COOKIE] = signing.get_cookie_signer(COOKIE + COOKIE_SALT).sign(visitor.visitor)
    return client


@pytest.fixture
def everything(account, now) -> list[Job]:
    """A job in every state, long ago."""
    account.plan.allowances.update(slots=500)
    return [way(account, now) for way in rows.EVERY_STATE]


def _signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


class StillWatcher:
    """Of a database in which nothing moves."""

    def __init__(self) -> None:
        self.begun = self.ended = 0

    def wait(self, seconds: float) -> bool:
        self.begun += 1
        time.sleep(0.01)
        return False

    def close(self) -> None:
        connection.close()
        self.ended = self.begun


@pytest.fixture
def watcher(monkeypatch):
    """For a hub with a real thread, which is at rest again when the test is over."""
    still = StillWatcher()
    monkeypatch.setattr("jobs.live.hub.watcher", lambda: still)
    yield still
    wait_until(lambda: still.begun == still.ended)
