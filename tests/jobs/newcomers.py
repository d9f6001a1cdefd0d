"""New visitors of one network who all order at once, on the database named by DATABASE_URL.

Run as `python -m tests.jobs.newcomers`. Each is at it in two processes, as by a double click, and
among them are some whose order is refused for another reason after they were let in.
"""

import json
import random
import sys

from django.conf import settings

from tests.quotas.contenders import NOW, run_together  # sets Django up

# isort: split
from jobs.core.models import Job
from jobs.pictures.orders import PictureOrder, order_picture
from providers.adapters.registry import Offer
from quotas.models import Account, Newcomer, Plan

SEATS = 30
PEOPLE = 60
HOPELESS = 20
PROCESSES = 20
ORDER = PictureOrder(prompt="a fox", aspect_ratio="1:1", offer=Offer("sandbox", "test-picture"))


def main() -> None:
    settings.NEW_VISITORS_A_DAY = SEATS
    Plan.objects.create(name="without pictures")
    names = [f"visitor {number}" for number in range(PEOPLE)]
    names += [f"hopeless {number}" for number in range(HOPELESS)]
    shares = [names[first::PROCESSES] for first in range(PROCESSES)]
    doubled = [shares[number] + shares[number - 1] for number in range(PROCESSES)]
    answers = run_together(*[lambda share=share: come(share) for share in doubled])
    seats = Newcomer.objects.order_by("number").values_list("number", "account__visitor")
    json.dump({"answers": answers, "seats": list(seats)}, sys.stdout)


def come(share: list[str]) -> dict:
    random.Random(share[0]).shuffle(share)
    return {"got": [[name, order(name)] for name in share]}


def order(name: str) -> str:
    plan = Plan.objects.get(name="visitor" if name.startswith("visitor") else "without pictures")
    account = Account(visitor=name, plan=plan)
    got = order_picture(
        account=account, order=ORDER, form_key=f"of {name}", now=NOW, network="192.0.2.1"
    )
    return str(got.pk) if isinstance(got, Job) else got.why


if __name__ == "__main__":
    main()
