"""No statement of the staff's board reads a table that grows from end to end."""

import json
import subprocess
import sys

import pytest

from tests.databases import ROOT
from tests.jobs.board_plans import BIG, PAGES


@pytest.fixture
def reads(each_database, tmp_path) -> dict[str, dict[str, list[str]]]:
    """By page and table, how it is read in a database with a history."""
    environment = each_database.environment(tmp_path) | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "TEST_DATABASE": each_database.url,
    }
    command = [sys.executable, "-m", "tests.jobs.board_plans"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return json.loads(done.stdout)


def is_whole(how: str) -> bool:
    """SQLite's SCAN, and PostgreSQL's Seq Scan; an index that is read from its end is neither."""
    return how.startswith("SCAN") or how.endswith("Seq Scan")


def test_every_read_has_its_index(reads):
    assert reads.keys() == PAGES.keys()
    assert reads["board"].keys() == set(BIG)
    whole = [
        (page, table, how)
        for page, tables in reads.items()
        for table, ways in tables.items()
        for how in ways
        if is_whole(how)
    ]
    assert whole == []


def test_no_list_of_calls_is_put_in_order_afterwards(reads):
    """What SQLite sorts it has read whole; a provider and a state have their order by index."""
    for page in ("calls of a provider", "calls in a state"):
        assert "sorted" not in reads[page]["providers_call"]


def test_a_whole_read_would_be_noticed():
    assert is_whole("SCAN providers_call")
    assert is_whole("Seq Scan")
    assert is_whole("Parallel Seq Scan")
    assert not is_whole("SEARCH providers_call USING INDEX call_due (poll_at>?)")
    assert not is_whole("Index Only Scan")
