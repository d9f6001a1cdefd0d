"""Processes that contend for seats, on the database named by DATABASE_URL. Prints what they got.

Run as `python -m tests.quotas.contenders fill|churn|settle|wait|alerts`: the interpreter starts
once, and its forks start work together at a barrier.
"""

import json
import multiprocessing
import random
import sys
import threading
import time
from contextlib import nullcontext
from datetime import UTC, datetime

import django

django.setup()

from django.db import connection, connections, transaction  # noqa: E402

from quotas.accounts import account_named, ensure_saved  # noqa: E402
from quotas.alerts import close_alert, open_alert  # noqa: E402
from quotas.ledger import Refused, reserve, settle, utc_day  # noqa: E402
from quotas.models import Account, AlertKind, Allowance, Attempt, Grant, Plan  # noqa: E402
from quotas.states import AttemptState  # noqa: E402
from tests.bench._size import choose  # noqa: E402

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
PROCESSES = 8
ACCOUNTS = choose(20, 2)
TRIES = choose(400, 16)
SLOTS = 20
ROUNDS = 90
TRIES_A_ROUND = 15
MOST_SLOTS = 30
SHARED = "shared"

fork = multiprocessing.get_context("fork")


def main() -> None:
    mode = sys.argv[1]
    json.dump(MODES[mode](), sys.stdout)


def run_together(*works) -> list:
    """The results of all works, each in a process of its own; an exception is a result too."""
    connections.close_all()
    if connection.vendor == "sqlite":
        # Its queue is not fair: in a crowd that never rests one waits longer than on any site.
        connection.settings_dict["OPTIONS"]["timeout"] = 200
    barrier, answers = fork.Barrier(len(works)), fork.Queue()

    def child(number: int) -> None:
        barrier.wait(300)
        try:
            answers.put((number, works[number]()))
        except Exception as exc:
            answers.put((number, {"error": f"{type(exc).__name__}: {exc}"}))
        connections.close_all()

    children = [fork.Process(target=child, args=(number,)) for number in range(len(works))]
    for process in children:
        process.start()
    found = dict(answers.get(timeout=300) for _ in children)
    for process in children:
        process.join(60)
    return [found[number] for number in range(len(works))]


def make_plan(slots: int) -> Plan:
    plan = Plan.objects.create(name=f"plan {Plan.objects.count()} of {slots}")
    Allowance.objects.create(plan=plan, kind="image", slots=slots)
    return plan


# Everybody wants the seats of the same accounts, which no one has used before


def fill() -> list:
    plan = make_plan(SLOTS)
    return run_together(*[lambda odd=number % 2: fill_accounts(plan, odd) for number in range(8)])


def fill_accounts(plan: Plan, in_transaction: int) -> dict:
    granted, tries = [], 0
    accounts = [Account(visitor=f"visitor {number}", plan=plan) for number in range(ACCOUNTS)]
    for _ in range(TRIES // PROCESSES):
        for number in range(ACCOUNTS):
            with transaction.atomic() if in_transaction else nullcontext():
                accounts[number] = ensure_saved(accounts[number], now=NOW)
                got = reserve(account=accounts[number], kind="image", now=NOW)
            tries += 1
            if isinstance(got, Attempt):
                granted.append([accounts[number].visitor, got.slot])
    return {"granted": granted, "tries": tries}


# The allowance goes up and down while seats are taken and given back


def churn() -> dict:
    plan = make_plan(SLOTS - 1)
    account = ensure_saved(Account(name=SHARED, plan=plan), now=NOW)
    tries, over = fork.Value("i", 0), fork.Event()
    takers = [lambda seed=seed: take_and_give_back(account, tries, over, seed) for seed in range(6)]
    *taken, changed = run_together(*takers, lambda: change_allowance(account, tries, over))
    return {"taken": taken, "changed": changed}


def take_and_give_back(account: Account, tries, over, seed: int) -> dict:
    chance, mine, granted = random.Random(seed), [], 0
    while not over.is_set():
        got = reserve(account=account, kind="image", now=NOW)
        with tries.get_lock():
            tries.value += 1
        if isinstance(got, Attempt):
            granted += 1
            mine.append(got.pk)
        if mine and (isinstance(got, Refused) or len(mine) > 4):
            give_back(mine.pop(chance.randrange(len(mine))))
    if mine:
        settle(attempt_id=mine.pop(), state=AttemptState.SUCCESS, now=NOW)
    while isinstance(reserve(account=account, kind="image", now=NOW), Attempt):
        granted += 1
    return {"granted": granted}


def give_back(attempt_id: int) -> None:
    settle(attempt_id=attempt_id, state=AttemptState.FAILED, now=NOW, cost_nothing=True)


def change_allowance(account: Account, tries, over) -> dict:
    """Each change waits for some tries on the last one; the last change makes room for all."""
    chance = random.Random(7)
    plan = Allowance.objects.filter(plan=account.plan, kind="image")
    grants = Grant.objects.filter(account=account)
    for number in range(ROUNDS):
        plan.update(slots=chance.choice([0, 3, 5, 9, 14, SLOTS]))
        if number % 3 == 0:
            grants.create(
                account=account, kind="image", day=utc_day(NOW), slots=2, granted_at=NOW, reason="x"
            )
        elif number % 3 == 2:
            grants.delete()
        wait_until(lambda aim=tries.value + TRIES_A_ROUND: tries.value >= aim)
    grants.delete()
    plan.update(slots=MOST_SLOTS)
    over.set()
    return {"rounds": ROUNDS}


# Everybody settles the same attempts, each in a different way


def settle_all() -> list:
    account = ensure_saved(account_named("operator"), now=NOW)
    ids = [reserve(account=account, kind="image", now=NOW).pk for _ in range(40)]
    return run_together(*[lambda number=number: settle_each(ids, number) for number in range(8)])


def settle_each(ids: list[int], number: int) -> dict:
    state = AttemptState.SUCCESS if number % 2 else AttemptState.FAILED
    won = [pk for pk in ids if settle(attempt_id=pk, state=state, now=NOW)]
    return {"state": state.value, "won": won}


# Two transactions want the same seat (PostgreSQL)


def wait() -> dict:
    return {"committed": race(roll_back=False), "rolled_back": race(roll_back=True)}


def race(*, roll_back: bool) -> dict:
    """The first transaction holds seat 1 open until the second is seen waiting for it."""
    name = f"race {roll_back}"
    account = ensure_saved(Account(name=name, plan=Plan.objects.get(name="free")), now=NOW)
    second: dict = {}
    thread = threading.Thread(target=reserve_in_transaction, args=(account, second))
    with transaction.atomic():
        reserve(account=account, kind="image", now=NOW)
        thread.start()
        wait_until(someone_waits)
        transaction.set_rollback(roll_back)
    thread.join()
    return second


def reserve_in_transaction(account: Account, answer: dict) -> None:
    inserts = []

    def note_inserts(execute, sql, params, many, context):
        if "INSERT INTO quotas_attempt" in sql:
            inserts.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note_inserts), transaction.atomic():
        answer["slot"] = reserve(account=account, kind="image", now=NOW).slot
    answer["inserts"] = len(inserts)
    connections.close_all()


# Everybody meets the same trouble and its end, in transactions of their own or in none


def alerts() -> list:
    return run_together(*[lambda number=number: meet_trouble(number) for number in range(8)])


def meet_trouble(number: int) -> dict:
    opened = closed = 0
    for _ in range(20):
        with transaction.atomic() if number % 2 else nullcontext():
            opened += open_alert(kind=AlertKind.PROVIDER_PAUSED, subject=SHARED, now=NOW)
        closed += close_alert(kind=AlertKind.PROVIDER_PAUSED, subject=SHARED, now=NOW)
    return {"opened": opened, "closed": closed}


def someone_waits() -> bool:
    """For this transaction: other databases of the server have locks of their own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM pg_locks"
            " WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        return cursor.fetchone()[0] > 0


def wait_until(condition, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError("what was waited for never came")
        time.sleep(0.001)


MODES = {
    "fill": fill,
    "churn": churn,
    "settle": settle_all,
    "wait": wait,
    "alerts": alerts,
}

if __name__ == "__main__":
    main()
