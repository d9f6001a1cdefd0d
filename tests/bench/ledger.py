"""What a reservation costs by seats held, against other ways to write it, and under contention.

Last come four ways side by side, each by four processes on forty accounts (`_reservers`).
Everything is measured within one run on one machine, so the ratios say more than the times. The
account has twenty full days behind it. SQLite is measured in a file, PostgreSQL where
TEST_DATABASE_URL (or the usual address) answers.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from tests.bench._size import choose, inherited
from tests.databases import ROOT, Database, migrate, postgres_copy

POSTGRES = "postgres://postgres@127.0.0.1:5432/test"
NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
SLOTS = choose(1000, 20)
HELD = choose((0, 20, 500, 999), (0, 19))
DAYS_BEFORE = choose(20, 1)
TIMES = choose(60, 2)
RIVALS = ("held seat against held seat", "index condition spelled otherwise")
WAYS = {
    "ours": "ours",
    "seat": "the bare seat",
    "counter": "counter and attempt",
    "count": "count form",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report(Database("sqlite", f"sqlite:///{folder}/ledger.sqlite3"), Path(folder))
        server = os.environ.get("TEST_DATABASE_URL", POSTGRES)
        try:
            psycopg.connect(server, connect_timeout=3).close()
        except psycopg.OperationalError:
            print("PostgreSQL left out: start one and set TEST_DATABASE_URL")
            return
        with postgres_copy(server) as database:
            report(database, Path(folder))


def report(database: Database, folder: Path) -> None:
    migrate(database, folder)
    costs = run(database, folder, "tests.bench.ledger")
    base = costs["reserve"][str(HELD[0])]
    print(f"{database.vendor}: ms a statement, and how many times the first line")
    for held, cost in costs["reserve"].items():
        print(f"  reserve, {held:>4} held        {cost:8.3f}  {cost / base:6.1f}")
    print(f"  refuse, {SLOTS} held        {costs['refuse']:8.3f}  {costs['refuse'] / base:6.1f}")
    for name in RIVALS:
        ratio = costs[name] / costs["reserve"][str(HELD[-1])]
        print(f"  {HELD[-1]} held, {name}: {costs[name]:.3f} ms, {ratio:.1f} times ours")
    began = time.monotonic()
    answers = run(database, folder, "tests.quotas.contenders", "fill")
    tries = sum(answer["tries"] for answer in answers)
    granted = sum(len(answer["granted"]) for answer in answers)
    rate = tries / (time.monotonic() - began)
    print(f"  8 processes: {tries} tries, {granted} seats granted, {rate:.0f} tries/s")
    print_ways(run(database, folder, "tests.bench._reservers"))


def print_ways(ways: dict) -> None:
    rates = {name: way["seats"] / way["seconds"] for name, way in ways.items()}
    print(f"  {'4 processes':<22}{'seats':>7}{'seats/s':>9}{'of the seat':>13}{'oversold':>10}")
    for name, label in WAYS.items():
        ratio = rates[name] / rates["seat"]
        numbers = f"{rates[name]:>9.0f}{ratio:>13.2f}{ways[name]['oversold']:>10}"
        print(f"  {label:<22}{ways[name]['seats']:>7}{numbers}")
    print(flush=True)


def run(database: Database, folder: Path, *module: str):
    command = [sys.executable, "-m", *module]
    environment = database.environment(folder) | inherited()
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


# In a process of its own, on the database of its environment


def measure() -> dict:
    import django

    django.setup()
    from quotas import ledger

    costs: dict = {"reserve": {held: median_reserve(held) for held in HELD}}
    costs["refuse"] = median_reserve(SLOTS)
    ours = ledger.RESERVE_SQL
    for name, sql in zip(
        RIVALS, (compare_each_with_each(ours), spell_otherwise(ours)), strict=True
    ):
        ledger.RESERVE_SQL = sql
        costs[name] = median_reserve(HELD[-1])
    return costs


def median_reserve(held: int) -> float:
    """Milliseconds of the statement alone, without the commit."""
    from django.db import connection, transaction

    from quotas import ledger

    account, day = make_account(held), ledger.utc_day(NOW)
    values = ledger._parameters(account, "image", day)
    values["now"] = connection.ops.adapt_datetimefield_value(NOW)
    taken = []
    for _ in range(TIMES):
        with transaction.atomic(), connection.cursor() as cursor:
            began = time.perf_counter()
            cursor.execute(ledger.RESERVE_SQL, values)
            cursor.fetchone()
            taken.append(time.perf_counter() - began)
            transaction.set_rollback(True)
    return statistics.median(taken) * 1000


def make_account(held: int):
    from quotas.days import utc_day
    from quotas.models import Account, Attempt, Plan

    account = Account.objects.create(plan=Plan.objects.get(name="operator"), created_at=NOW)
    seats = {utc_day(NOW): held}
    seats |= {utc_day(NOW) - timedelta(days=ago): SLOTS for ago in range(1, DAYS_BEFORE + 1)}
    fixed = {"account": account, "kind": "image", "allowed": SLOTS, "state": "pending"}
    Attempt.objects.bulk_create(
        Attempt(day=day, slot=slot, reserved_at=NOW, **fixed)
        for day, count in seats.items()
        for slot in range(1, count + 1)
    )
    return account


def compare_each_with_each(sql: str) -> str:
    """The free seat as the one after a held seat whose successor is not held."""
    before, _, rest = sql.partition("       (SELECT COUNT(*) AS held")
    _, _, after = rest.partition(") seat) seats")
    mine = "{0}.account_id = %(account)s AND {0}.kind = %(kind)s AND {0}.day = %(day)s"
    mine += " AND NOT ({0}.state = 'failed')"
    one, held, next_one = mine.format("one"), mine.format("held"), mine.format("next_one")
    return f"""{before} (SELECT (SELECT COUNT(*) FROM quotas_attempt held WHERE {held}) AS held,
            (SELECT MIN(slot) FROM (
              SELECT 1 AS slot WHERE NOT EXISTS (
                SELECT 1 FROM quotas_attempt one WHERE {one} AND one.slot = 1)
              UNION ALL
              SELECT held.slot + 1 FROM quotas_attempt held WHERE {held} AND NOT EXISTS (
                SELECT 1 FROM quotas_attempt next_one
                 WHERE {next_one} AND next_one.slot = held.slot + 1)) candidate) AS free
        ) seats {after}"""


def spell_otherwise(sql: str) -> str:
    return sql.replace("NOT (taken.state = 'failed')", "taken.state <> 'failed'")


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
