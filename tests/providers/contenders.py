"""Processes that contend for calls, on the database named by DATABASE_URL. Prints what they got.

Run as `python -m tests.providers.contenders open|record`; see tests/quotas/contenders.py.
"""

import json
import sys
from contextlib import nullcontext
from datetime import timedelta

import django

django.setup()

from django.db import connection, transaction  # noqa: E402

from providers import ledger  # noqa: E402
from providers.models import Call  # noqa: E402
from tests.providers.calls import NEWS, OFFER, call_in  # noqa: E402
from tests.quotas.contenders import NOW, run_together  # noqa: E402

PROCESSES = 8
WORKS = 20


def main() -> None:
    json.dump({"open": open_all, "record": record_all}[sys.argv[1]](), sys.stdout)


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


if __name__ == "__main__":
    main()
