"""What every test may use: a fixed now, four people, and real databases where a test needs one."""

import os
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest
import redis
from django.contrib.auth import get_user_model
from django.db import connection
from hypothesis import HealthCheck, settings
from pytest_django.plugin import blocking_manager_key

from quotas import accounts, identity
from quotas.ratelimit import bypassed
from quotas.ratelimit.limiter import limiter
from tests import databases, prepared

pytest_plugins = ["tests.fakes"]

# The same examples in each run, however long a busy machine takes over one.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")

FOLDER = Path(__file__).resolve().parent
POSTGRES = "postgres://postgres@127.0.0.1:5432/test"
REDIS = "redis://127.0.0.1:6379/5"


# Processes of a run take whole files in this order, so that none of these is left for the end.
LONGEST = (
    "test_bench.py",
    "jobs/kinds/test_trio_deaths.py",
    "chaos/test_faultpoint_sleeps.py",
    "chaos/test_faultpoint_kills.py",
    "chaos/test_drill_mutants.py",
    "chaos/test_drill.py",
    "chaos/test_outages.py",
    "chaos/test_drill_ends.py",
    "site/test_backup.py",
    "site/test_up.py",
    "site/test_live.py",
    "e2e/test_live.py",
    "e2e/test_staff.py",
    "e2e/test_notices.py",
    "e2e/test_axe.py",
    "e2e/test_looks.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files, then what else starts a site, then the rest. The browser's files are last:
    while it is open an event loop runs in this thread, where Django refuses its database."""
    starting = {item.path for item in items if item.get_closest_marker("site")}

    def rank(item: pytest.Item) -> tuple[bool, int]:
        file = item.path.relative_to(FOLDER).as_posix()
        number = LONGEST.index(file) if file in LONGEST else len(LONGEST)
        return file.startswith("e2e/"), number + (item.path not in starting)

    items.sort(key=rank)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """What migrations made, plans above all, is there again after a test that emptied the database:
    beside other processes such a test need not be the last."""
    result = yield
    marker = item.get_closest_marker("django_db")
    if marker and marker.kwargs.get("serialized_rollback"):
        with item.config.stash[blocking_manager_key].unblock():
            connection.creation.deserialize_db_from_string(connection._test_serialized_contents)
    return result


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 3, 14, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def fresh_limits(monkeypatch):
    """Nobody has asked for anything yet; what is let through unmeasured is told by no thread."""
    limiter.cache_clear()
    monkeypatch.setattr(bypassed, "tally", bypassed.Tally(set_timer=lambda *_: None))
    monkeypatch.setattr(identity, "_known", "of-the-tests")


@pytest.fixture
def ana(db):
    """The owner of what a test is about."""
    return get_user_model().objects.create_user("ana", password="ana's password")


@pytest.fixture
def ben(db):
    """Another user, who must see nothing of ana's."""
    return get_user_model().objects.create_user("ben", password="ben's password")


@pytest.fixture
def staff(db):
    return get_user_model().objects.create_superuser("staff", password="staff's password")


@pytest.fixture
def visitor(db, now):
    """The account of somebody who never signed in: three pictures a day."""
    return accounts.ensure_saved(accounts.account_of_visitor("visitor-of-the-tests"), now=now)


@pytest.fixture
def account(ana, now):
    """Ana's account, on the plan `free`."""
    return accounts.ensure_saved(accounts.account_of_user(ana), now=now)


@pytest.fixture(scope="session")
def postgres_url() -> str:
    url = os.environ.get("TEST_DATABASE_URL", POSTGRES)
    with suppress(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=30).close()
        return url
    return _do_without("PostgreSQL", "TEST_DATABASE_URL", POSTGRES)


@pytest.fixture(scope="session")
def redis_url() -> str:
    url = os.environ.get("TEST_REDIS_URL", REDIS)
    client = redis.Redis.from_url(url, socket_connect_timeout=30)
    with closing(client), suppress(redis.RedisError):
        client.ping()
        return url
    return _do_without("Redis", "TEST_REDIS_URL", REDIS)


def _do_without(service: str, variable: str, example: str) -> NoReturn:
    """Skip with one line; on the build machine nothing may be skipped."""
    line = f"skipped what needs {service}: start one and set {variable} (as in {example})"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{service} is missing: set {variable}", pytrace=False)
    pytest.skip(line)


@pytest.fixture(scope="session")
def migrated_sqlite() -> Path:
    return prepared.migrated_file()


@pytest.fixture(scope="session")
def migrated_postgres(postgres_url, tmp_path_factory):
    """A migrated database to copy from. Nobody may be connected to it while it is copied."""
    with databases.postgres_copy(postgres_url) as database:
        databases.migrate(database, tmp_path_factory.mktemp("migrated"))
        yield database


@pytest.fixture(scope="session")
def copy_postgres(postgres_url, migrated_postgres):
    """`with copy_postgres() as database` is a migrated PostgreSQL database of its own."""
    return partial(databases.postgres_copy, postgres_url, migrated_postgres)


@pytest.fixture
def sqlite_database(migrated_sqlite, tmp_path):
    """A migrated database in a file of its own."""
    return databases.copy_sqlite(migrated_sqlite, tmp_path)


@pytest.fixture
def postgres_database(copy_postgres):
    """A migrated PostgreSQL database of its own."""
    with copy_postgres() as database:
        yield database


@pytest.fixture(
    params=["sqlite_database", pytest.param("postgres_database", marks=pytest.mark.postgres)]
)
def each_database(request):
    """The test runs twice: on a SQLite file and on PostgreSQL."""
    return request.getfixturevalue(request.param)
