"""What a page of staff costs hangs on what it shows, never on the history: the same queries over
few rows and many, and no table that grows is read from end to end.

SQLite is told nothing of what the tables hold, so that its index for a list must be the right one
whatever else is asked for; PostgreSQL chooses by its statistics.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.bench.admin import PAGES
from tests.databases import ROOT, Database, copy_sqlite
from tests.jobs.board_plans import BIG

FEW, MANY = 10_000, 40_000
# Read from their newest end until the page is full.
IN_ORDER = {
    "attempts", "attempts, last page counted", "attempts that succeeded", "attempts of pictures",
    "attempts of today", "attempts of yesterday", "attempts of a week",
    "calls", "calls, last page counted", "calls that succeeded",
    "jobs", "jobs ready", "jobs of a kind",
}  # fmt: skip
# A kind has no index, so that one which nobody ever asked for is looked for everywhere.
OF_NOBODY = {"attempts of a kind of nobody", "jobs of a kind of nobody"}
FOUND_BY = {
    "attempts that failed": "attempt_by_state",
    "attempts on hold of today": "attempt_by_state",
    "an account's that failed": "quotas_attempt_account_id",
    "calls in doubt of a provider": "call_by_state",
    "calls rejected": "call_by_state",
    "calls rejected by a provider": "call_by_state",
    "a provider's that succeeded": "call_of_a_day",
    "calls of a provider": "call_of_a_day",
    "a provider's by reason": "call_by_reason",
    "jobs failed": "job_by_state",
    "an account's jobs that failed": "job_newest_of_account",
}
FEW_ARE_SORTED = {"calls in doubt of a provider"}

Seen = dict[str, dict]


@contextmanager
def database_of(vendor: str, request, folder) -> Iterator[Database]:
    if vendor == "sqlite":
        yield copy_sqlite(request.getfixturevalue("migrated_sqlite"), folder)
        return
    with request.getfixturevalue("copy_postgres")() as database:
        yield database


def pages_over(rows: int, database: Database, folder) -> Seen:
    environment = database.environment(folder) | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "TEST_DATABASE": database.url,
        "RATE_LIMITS": "OFF",
    }
    command = [sys.executable, "-m", "tests.jobs.board_plans", str(rows)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def vendor(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def seen(vendor, request, tmp_path_factory) -> dict[int, Seen]:
    """Each page over a short history and a longer one."""
    found, folder = {}, tmp_path_factory.mktemp("plans")
    for rows in (FEW, MANY):
        with database_of(vendor, request, folder) as database:
            found[rows] = pages_over(rows, database, folder)
    return found


def ways_of(seen: dict[int, Seen], page: str) -> set[str]:
    return {how for ways in seen[MANY][page]["reads"].values() for how in ways}


def is_whole(how: str) -> bool:
    """SQLite's SCAN, and PostgreSQL's Seq Scan; an index that is read from its end is neither."""
    return how.startswith("SCAN") or how.endswith("Seq Scan")


def test_number_of_queries_does_not_grow(seen):
    taken = [{page: each["queries"] for page, each in seen[rows].items()} for rows in (FEW, MANY)]
    assert taken[0] == taken[1]
    assert taken[0].keys() == PAGES.keys()


def test_every_read_has_its_index(seen, vendor):
    assert seen[MANY]["board"]["reads"].keys() == set(BIG)
    # On SQLite a table in its own order is SCAN too; the next test has those.
    left_out = OF_NOBODY | (IN_ORDER if vendor == "sqlite" else set())
    whole = [
        (page, table, how)
        for page in PAGES.keys() - left_out
        for table, ways in seen[MANY][page]["reads"].items()
        for how in ways
        if is_whole(how)
    ]
    assert whole == []


@pytest.mark.parametrize("vendor", ["sqlite"], indirect=True)
def test_no_long_list_is_put_in_order_afterwards(seen):
    """What SQLite sorts it has read whole."""
    long = IN_ORDER | OF_NOBODY | (FOUND_BY.keys() - FEW_ARE_SORTED)
    assert [page for page in long if "sorted" in ways_of(seen, page)] == []


@pytest.mark.parametrize("vendor", ["sqlite"], indirect=True)
def test_a_list_is_found_by_what_narrows_it_most(seen):
    for page, index in FOUND_BY.items():
        searched = ways_of(seen, page) - {"sorted"}
        assert {index in how for how in searched} == {True}, page


def test_a_whole_read_would_be_noticed():
    assert is_whole("SCAN providers_call")
    assert is_whole("Seq Scan")
    assert is_whole("Parallel Seq Scan")
    assert not is_whole("SEARCH providers_call USING INDEX call_due (poll_at>?)")
    assert not is_whole("Index Only Scan")
