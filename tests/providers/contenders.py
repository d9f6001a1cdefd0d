"""Processes that contend for calls, on the database named by DATABASE_URL. Prints what they got.

Run as `python -m tests.providers.contenders open|record|cap|probe`; see tests/quotas/contenders.py.
"""

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from providers.adapters.registry import Offer  # noqa: E402
from providers.calls import ledger  # noqa: E402
from providers.calls.models import Call, Gate  # noqa: E402
from providers.routing import gates  # noqa: E402
from providers.routing.gates import Blocked  # noqa: E402
from providers.routing.pool import Candidate  # noqa: E402
from tests.providers.call_rows import NEWS, OFFER, call_in  # noqa: E402
from tests.quotas.contenders import NOW, run_together  # noqa: E402

PROCESSES = 8
ROUNDS = 10
MODELS = (OFFER, Offer("polza", "another-model"))
WORKS = 20


def main() -> None:
    modes = {"open": open_all, "record": record_all, "cap": enter_all, "probe": probe_all}
    json.dump(modes[sys.argv[1]](), sys.stdout)


def open_all() -> list:
    return run_together(*[lambda odd=number % 2: open_each(odd) for number in range(PROCESSES)])


def open_each(in_transaction: int) -> dict:
    """Half of them open the call inside of a transaction, as the pipeline does."""
    opened = []
    for number in range(WORKS):
        with transaction.atomic() if in_transaction else nullcontext():
            call = ledger.open_call(work=f"image:{number}", offer=OFFER, now=NOW)
            if call:
                opened.append(call.work)
    return {"opened": opened, "usable": connection.is_usable()}


def record_all() -> list:
    """Everybody brings other news of the same calls, or gives them up."""
    ids = [call_in("unknown", NOW, work=f"image:{number}").pk for number in range(WORKS)]
    names = [*NEWS, "give_up", "done", "failed"]
    return run_together(*[lambda name=name: record_each(ids, name) for name in names])


def record_each(ids: list[int], name: str) -> dict:
    return {"news": name, "changed": [pk for pk in ids if bring(pk, name)]}


def bring(call_id: int, name: str) -> bool:
    if name == "give_up":
        return ledger.give_up(call_id=call_id, now=NOW + timedelta(days=1))
    news = ledger.Accepted(f"gen_{call_id}") if name == "accepted" else NEWS[name]
    with transaction.atomic():
        Call.objects.select_for_update().get(pk=call_id)
        return ledger.record(call_id=call_id, news=news, now=NOW).changed


def enter_all() -> list:
    """Twenty processes, two models of one provider, a cap with room for seven; each round is a
    day of its own."""
    account = settings.PROVIDER_ACCOUNTS["polza"]
    settings.PROVIDER_ACCOUNTS["polza"] = replace(account, daily_cap=(Decimal("36.00"), "RUB"))
    settings.IMAGE_PRICES = {str(offer): (Decimal("5.00"), "RUB") for offer in MODELS}
    return run_together(*[lambda number=number: enter_each(number) for number in range(20)])


def enter_each(number: int) -> dict:
    entered = []
    for day in range(ROUNDS):
        now = NOW + timedelta(days=day)
        candidate = Candidate(MODELS[number % 2])
        with transaction.atomic():
            got = gates.enter(work=f"image:{day}-{number}", candidate=candidate, now=now)
            transaction.set_rollback(isinstance(got, Blocked))
        if isinstance(got, Call):
            entered.append(day)
    return {"entered": entered, "usable": connection.is_usable()}


def probe_all() -> list:
    """Everybody comes at the end of a pause of the whole provider; each round is one of its own."""
    account = settings.PROVIDER_ACCOUNTS["polza"]
    for number in range(ROUNDS):
        name = f"polza-{number}"
        settings.PROVIDER_ACCOUNTS[name] = replace(account, name=name)
        Gate.objects.create(provider=name, paused_until=NOW, why="rate", since=NOW)
    return run_together(*[lambda number=number: probe_each(number) for number in range(PROCESSES)])


def probe_each(number: int) -> dict:
    entered = []
    for turn in range(ROUNDS):
        candidate = Candidate(Offer(f"polza-{turn}", f"model-{number % 2}"))
        with transaction.atomic():
            got = gates.enter(work=f"image:{turn}-{number}", candidate=candidate, now=NOW)
            transaction.set_rollback(isinstance(got, Blocked))
        if isinstance(got, Call):
            entered.append(turn)
    return {"entered": entered}


if __name__ == "__main__":
    main()
