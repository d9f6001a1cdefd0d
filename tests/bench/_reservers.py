"""Four ways to reserve, on the database named by DATABASE_URL, each by four processes at once.

    ours      `quotas.ledger.reserve`, as the site calls it
    seat      its insert alone, sent by the driver: no Django, no lock, no model
    counter   a guarded counter row and an attempt, in one transaction of the driver
    count     `INSERT ... WHERE (SELECT COUNT(*) ...) < quota`, sent by the driver

The ways take turns, so that the ratios hold on a busy machine too. The driver gets the site's own
options: client-side binding on PostgreSQL, IMMEDIATE transactions and a full sync on SQLite. What
is timed has no refusal in it. Seats are oversold in a race of their own, for the last of few.
"""

import json
import random
import re
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from datetime import date, timedelta

import django

django.setup()

from django.db import connection  # noqa: E402

from quotas import ledger  # noqa: E402
from quotas.models import Account, Attempt  # noqa: E402
from tests.bench._size import choose  # noqa: E402
from tests.quotas.contenders import NOW, make_plan, run_together  # noqa: E402

PROCESSES = 4
ACCOUNTS = choose(40, 2)
SLOTS = choose(20, 4)
RACED_SLOTS = choose(5, 2)
ROUNDS = choose(3, 1)

COLUMNS = "account_id, kind, day, slot, allowed, state, cost_nothing, reserved_at"
OF_A_DAY = "account_id = %(account)s AND kind = 'image' AND day = %(day)s"
COUNT_UP = f"UPDATE bench_counter SET held = held + 1 WHERE {OF_A_DAY} AND held < %(allowed)s"
INSERT_ATTEMPT = f"""
INSERT INTO quotas_attempt ({COLUMNS})
VALUES (%(account)s, 'image', %(day)s, %(slot)s, %(allowed)s, 'pending', FALSE, %(now)s)
RETURNING id
"""
INSERT_BY_COUNT = f"""
INSERT INTO bench_count ({COLUMNS})
SELECT %(account)s, 'image', %(day)s, 0, %(allowed)s, 'pending', FALSE, %(now)s
 WHERE (SELECT COUNT(*) FROM bench_count WHERE {OF_A_DAY} AND NOT (state = 'failed'))
       < %(allowed)s
RETURNING id
"""
TABLES = (
    "CREATE TABLE bench_count AS SELECT * FROM quotas_attempt WHERE 1 = 0",
    "CREATE INDEX bench_count_day ON bench_count (account_id, kind, day)",
    "CREATE TABLE bench_counter (account_id integer, kind varchar(20), day date, held integer,"
    " PRIMARY KEY (account_id, kind, day))",
)
Take = Callable[[Account, date, int], bool]


def measure() -> dict[str, dict[str, float]]:
    with connection.cursor() as cursor:
        for statement in TABLES:
            cursor.execute(statement)
    found: dict[str, dict[str, float]] = {}
    # Not timed, and warms the caches for what is.
    for way in WAYS:
        raced = race(way)
        found[way] = {"seats": 0, "seconds": 0.0, "oversold": raced}
    accounts = {way: make_accounts(SLOTS) for way in WAYS}
    for number in range(ROUNDS):
        for way in WAYS:
            day = NOW.date() + timedelta(days=number)
            seats, seconds = fill(way, accounts[way], SLOTS, day, shuffled=True)
            found[way]["seats"] += seats
            found[way]["seconds"] += seconds
    return found


def make_accounts(slots: int) -> list[Account]:
    plan = make_plan(slots)
    return [Account.objects.create(plan=plan, created_at=NOW) for _ in range(ACCOUNTS)]


def race(way: str) -> int:
    """All processes try each account in the same order; how many seats went over."""
    accounts = make_accounts(RACED_SLOTS)
    seats, _ = fill(way, accounts, RACED_SLOTS * PROCESSES, NOW.date(), slots=RACED_SLOTS)
    return max(0, seats - RACED_SLOTS * len(accounts))


def fill(
    way: str,
    accounts: list[Account],
    tries: int,
    day: date,
    *,
    slots: int = SLOTS,
    shuffled: bool = False,
) -> tuple[int, float]:
    """Seats granted, and the seconds from the first beginning to the last end."""
    with connection.cursor() as cursor:
        for account in accounts if way == "counter" else ():
            values = [account.pk, connection.ops.adapt_datefield_value(day)]
            cursor.execute("INSERT INTO bench_counter VALUES (%s, 'image', %s, 0)", values)

    def work(number: int) -> tuple[int, float, float]:
        mine = [account for account in accounts for _ in range(tries // PROCESSES)]
        if shuffled:
            random.Random(number).shuffle(mine)
        with WAYS[way]() as take:
            began = time.monotonic()
            granted = sum(take(account, day, slots) for account in mine)
            return granted, began, time.monotonic()

    answers = run_together(*[lambda number=number: work(number) for number in range(PROCESSES)])
    granted, began, ended = zip(*answers, strict=True)
    return sum(granted), max(ended) - min(began)


@contextmanager
def ours():
    connection.ensure_connection()

    def take(account: Account, day: date, slots: int) -> bool:
        now = NOW + (day - NOW.date())
        return isinstance(ledger.reserve(account=account, kind="image", now=now), Attempt)

    yield take


@contextmanager
def seat():
    with driver() as execute:

        def take(account: Account, day: date, slots: int) -> bool:
            # Another process may have taken that seat at the same moment: that is no refusal.
            return any(execute(ledger.RESERVE_SQL, account, day) for _ in range(PROCESSES))

        yield take


@contextmanager
def counter():
    with driver() as execute:

        def take(account: Account, day: date, slots: int) -> bool:
            execute("BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN")
            row = execute(f"{COUNT_UP} RETURNING held", account, day, allowed=slots)
            if row:
                execute(INSERT_ATTEMPT, account, day, allowed=slots, slot=row[0])
            execute("COMMIT")
            return bool(row)

        yield take


@contextmanager
def count():
    with driver() as execute:

        def take(account: Account, day: date, slots: int) -> bool:
            return bool(execute(INSERT_BY_COUNT, account, day, allowed=slots))

        yield take


WAYS: dict[str, Callable] = {"ours": ours, "seat": seat, "counter": counter, "count": count}


@contextmanager
def driver():
    """Yields a function that executes a statement and returns its row, if it has one."""
    opened = open_driver()

    def execute(sql: str, account: Account | None = None, day: date | None = None, **more):
        values = {"kind": "image", "now": connection.ops.adapt_datetimefield_value(NOW)} | more
        if account and day:
            values |= {
                "account": account.pk,
                "day": connection.ops.adapt_datefield_value(day),
            }
        if connection.vendor == "sqlite":
            sql = re.sub(r"%\((\w+)\)s", r":\1", sql)
        cursor = opened.execute(sql, values)
        return cursor.fetchone() if cursor.description else None

    try:
        yield execute
    finally:
        opened.close()


def open_driver():
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        import sqlite3

        opened = sqlite3.connect(settings["NAME"], isolation_level=None, timeout=200)
        opened.executescript(settings["OPTIONS"]["init_command"])
        opened.execute("PRAGMA foreign_keys = ON")
        return opened
    import psycopg

    address = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    facts = {key: settings[name] for key, name in address.items() if settings[name]}
    return psycopg.connect(
        dbname=settings["NAME"],
        autocommit=True,
        prepare_threshold=None,
        cursor_factory=psycopg.ClientCursor,
        **facts,
    )


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
