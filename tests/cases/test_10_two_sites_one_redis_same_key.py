"""Two sites with one SECRET_KEY on one Redis: each has its own queue and its own counts, and where
one is a copy of the other it is refused, or told to staff."""

import secrets
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import redis
from django.db.models import F
from django.utils import timezone

from config.supervisor import preflight
from jobs.alerts import watch
from jobs.core.models import Lease
from jobs.engine import copies
from quotas import identity
from quotas.models import Alert, AlertKind, Site
from tests import databases
from tests.site_process import ROOT
from tests.site_process import Site as RunningSite

ASK = """
import django; django.setup()
from datetime import timedelta
from django_q.brokers import get_broker
from quotas.ratelimit.limiter import Rule, Window, limiter
limiter().check([Window(Rule("pages", 5, timedelta(seconds=60)), "user 1")])
print(get_broker().list_key)
"""


def ask(database: databases.Database, folder: Path, redis_url: str, key: str) -> str:
    """The name of the queue, after one request was counted."""
    environment = database.environment(folder) | {"REDIS_URL": redis_url, "SECRET_KEY": key}
    said = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


@pytest.fixture
def two_databases(tmp_path):
    found = []
    for name in ("production", "staging"):
        folder = tmp_path / name
        folder.mkdir()
        database = databases.Database("sqlite", f"sqlite:///{folder}/counterfoil.sqlite3")
        databases.migrate(database, folder)
        found.append((database, folder))
    return found


@pytest.mark.redis
def test_two_sites_with_one_key_share_neither_queue_nor_counts(two_databases, redis_url):
    key = secrets.token_hex(32)
    names = [ask(*each, redis_url, key) for each in two_databases]
    assert len(set(names)) == 2
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        prefix = names[0].removeprefix("django_q:").rpartition("-")[0]
        counts = client.keys(f"{prefix}-limits:*")
        assert len(counts) == 2
        client.delete(*counts)


@pytest.mark.redis
def test_the_processes_of_one_site_have_one_queue(two_databases, redis_url):
    database, folder = two_databases[0]
    key = secrets.token_hex(32)
    assert ask(database, folder, redis_url, key) == ask(database, folder, redis_url, key)


def copy_data(site: RunningSite, folder: Path) -> Path:
    data = folder / "data"
    data.mkdir(parents=True)
    source = Path(site.settings["DATA_DIR"]) / "counterfoil.sqlite3"
    with (
        closing(sqlite3.connect(source)) as running,
        closing(sqlite3.connect(data / "counterfoil.sqlite3")) as copy,
    ):
        running.backup(copy)
    return data


@pytest.mark.site
@pytest.mark.redis
def test_a_running_copy_of_the_database_is_refused(tmp_path, redis_url):
    site = RunningSite(tmp_path, REDIS_URL=redis_url)
    staging = RunningSite(
        tmp_path / "staging", REDIS_URL=redis_url, SECRET_KEY=site.settings["SECRET_KEY"]
    )
    try:
        site.start()
        copy_data(site, tmp_path / "staging")
        # A sign that was left before the copy was made may be the copy's own.
        known = staging.ask("SELECT sign FROM quotas_site UNION SELECT next_sign FROM quotas_site")
        site.wait_until(lambda: site.ask("SELECT sign FROM quotas_site")[0] not in known)
        refused = staging.run("up")
    finally:
        site.stop()
    assert refused.returncode == 1
    assert refused.stderr.strip().splitlines()[-1].startswith("counterfoil: REDIS_URL: a site with")
    assert "ending it" not in site.logs()


@pytest.fixture
def signing(db, settings, redis_url, monkeypatch):
    """A clock of its own, so that each call leaves a sign."""
    settings.REDIS_URL = redis_url
    monkeypatch.setattr(identity, "_known", secrets.token_hex(16))
    ticks = iter(range(0, 10_000, 100))
    yield copies.Signs(clock=lambda: next(ticks))
    with redis.Redis.from_url(redis_url) as client:
        client.delete(copies._key())


def leave_foreign_sign(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set(copies._key(), secrets.token_hex(16), ex=10)


def open_alerts(now) -> int:
    watch.look(now)
    return Alert.objects.open().filter(kind=AlertKind.COPY).count()


@pytest.mark.redis
def test_a_copy_that_runs_is_told_to_staff_until_it_ends(signing, redis_url, now):
    for _ in range(2):
        leave_foreign_sign(redis_url)
        signing.leave_if_due(now)
    assert open_alerts(now) == 1
    signing.leave_if_due(now)
    assert open_alerts(now + timedelta(minutes=3)) == 0


@pytest.mark.redis
def test_a_site_alone_sees_no_copy_of_itself(signing, now):
    for _ in range(5):
        signing.leave_if_due(now)
    assert open_alerts(now) == 0
    assert not copies.copy_is_running()


@pytest.mark.redis
def test_the_last_sign_before_a_restore_refuses_nobody(signing, redis_url, now, monkeypatch):
    monkeypatch.setattr(copies, "SIGN_EVERY", 0.1)
    leave_foreign_sign(redis_url)
    assert not copies.copy_is_running()
    signing.leave_if_due(now)
    assert open_alerts(now) == 0


@pytest.mark.redis
@pytest.mark.parametrize("died_after", ["database", "redis"])
def test_a_ticker_that_died_between_its_two_writes_is_no_copy(signing, redis_url, now, died_after):
    signing.leave_if_due(now)
    Site.objects.update(next_sign="half-written")
    if died_after == "redis":
        with redis.Redis.from_url(redis_url) as client:
            client.set(copies._key(), "half-written")
    signing.leave_if_due(now)
    signing.leave_if_due(now)
    assert signing._foreign == 0


@pytest.mark.redis
@pytest.mark.parametrize("way", ["refuses", "hangs"])
def test_redis_that_is_away_holds_up_no_tick(signing, settings, now, way):
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1] if way == "hangs" else 1
        settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
        begun = time.monotonic()
        signing.leave_if_due(now)
    # Twice the time for an answer, and as much again for a busy machine.
    assert time.monotonic() - begun < 4 * copies.ANSWER_WITHIN
    assert open_alerts(now) == 0


def test_the_database_has_one_identity(db):
    assert Site.objects.count() == 1
    assert len(Site.objects.get().name) == 32


@pytest.fixture
def held_duty(db, settings, now, monkeypatch):
    """The lease of a ticker on another machine; `renew` moves its end while the start looks."""
    settings.TICKER_LEASE_LASTS = timedelta(seconds=0.5)
    ahead = timezone.now() + timedelta(seconds=30)
    Lease.objects.create(name="ticker", token=uuid.uuid4(), holder="elsewhere/1/2/3", until=ahead)

    def renew(*_) -> None:
        Lease.objects.update(until=F("until") + timedelta(seconds=1))

    return lambda: monkeypatch.setattr(preflight.time, "sleep", renew)


def test_a_site_that_runs_on_the_same_database_is_warned_of(held_duty, capsys):
    held_duty()
    preflight.warn_of_second_site()
    assert capsys.readouterr().err.startswith("counterfoil: another site is running on")


def test_a_duty_that_nobody_keeps_is_no_site(held_duty, capsys):
    preflight.warn_of_second_site()
    assert capsys.readouterr().err == ""
