"""Every part of `make bench` runs, in miniature, and prints its table."""

import os
import re
import subprocess
import sys

import pytest

from tests.bench.__main__ import parts
from tests.bench._size import VARIABLE
from tests.site_process import ROOT

NUMBER = r"-?[\d,]+(?:\.\d+)?"
# A table's rows: `#` is a number.
TABLES = {
    "admin": [
        "sqlite: # attempts and calls, filled in # s",
        "first page # # # #",
        "a call # # # #",
    ],
    "crowd": [
        "alone # pages, # unanswered , p50 # p99 # max # s",
        "10 live pages # pages, # unanswered , p50 # p99 # max # s",
        "and 20 unfinished bodies # pages, # unanswered , p50 # p99 # max # s",
        "live pages: 10 of 10 open, # heard nothing of # changes",
    ],
    "inflight": [
        "2 generations of 4 s",
        "lag p50/p95/p99 # / # / # s",
        "pick-up of a fresh job p50/max # / # s",
        "ready (?P<ready>#) of (?P=ready)",
    ],
    "ledger": [
        "reserve, 0 held # #",
        "19 held, index condition spelled otherwise: # ms, # times ours",
        "8 processes: 32 tries, 32 seats granted, # tries/s",
        "ours 8 # # 0",
        "the bare seat 8 # 1.00 0",
        "counter and attempt 8 # # 0",
        "count form 8 # # #",
    ],
    "limiter": [
        "none # # #",
        "memory # # #",
        "Redis # # #",
        "Redis that never answers # # #",
        "1,000 keys: # us each, # MiB more",
    ],
    "live": ["10 clients a tenth p50 # p99 # bare p50 # p99 # all p50 # p99 # # statements/s"],
}
MARKS = {
    "crowd": pytest.mark.site,
    "inflight": pytest.mark.site,
    "ledger": pytest.mark.postgres,
    "limiter": pytest.mark.redis,
    "live": pytest.mark.site,
}


@pytest.fixture
def services(request):
    """The addresses of the services that the part needs."""
    marks = {mark.name for mark in request.node.iter_markers()}
    found = {}
    if "postgres" in marks:
        found["TEST_DATABASE_URL"] = request.getfixturevalue("postgres_url")
    if "redis" in marks:
        found["TEST_REDIS_URL"] = request.getfixturevalue("redis_url")
    return found


def test_every_part_has_a_table():
    assert parts() == sorted(TABLES)


@pytest.mark.parametrize("part", [pytest.param(p, marks=MARKS.get(p, ())) for p in sorted(TABLES)])
def test_part_prints_its_table(part, services):
    printed = run(part, services)
    for row in TABLES[part]:
        times = 2 if part == "ledger" else 1
        pattern = r"\s+".join(row.split(" ")).replace("#", NUMBER)
        assert len(re.findall(pattern, printed)) == times, f"{row}\n{printed}"


def run(part: str, services: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", part],
        cwd=ROOT,
        env=os.environ | services | {VARIABLE: "1", "ROWS": "", "SECONDS": "", "VENDORS": ""},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
