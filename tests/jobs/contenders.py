"""Processes that contend around a sign-in, on the database named by DATABASE_URL. Prints what each
of them got.

Run as `python -m tests.jobs.contenders sign_in`. In each round one visitor signs in by two tabs
while the same visitor orders, the user orders elsewhere, and the visitor's attempts are settled.
"""

import json
import sys
from datetime import UTC, datetime

from tests.quotas.contenders import run_together

# After the line above, which sets Django up.
from django.contrib.auth.models import User  # isort: skip

from jobs.core.models import Job
from jobs.people.sign_in import bring_along
from jobs.pictures.orders import PictureOrder, order_picture
from providers.adapters.registry import Offer
from quotas.accounts import account_of_user, account_of_visitor, ensure_saved
from quotas.ledger import settle
from quotas.models import Attempt
from quotas.states import AttemptState

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
ROUNDS = 12
OFFER = Offer("sandbox", "test-picture")


def main() -> None:
    json.dump([play(number) for number in range(ROUNDS)], sys.stdout)


def play(number: int) -> dict:
    """In every second round the user has an account before, on which seats are held."""
    user = User.objects.create(username=f"user {number}")
    visitor = f"visitor {number}"
    if number % 2:
        ensure_saved(account_of_user(user), now=NOW)
        order(user, 5, f"before {number}")
    mine = order_as_visitor(visitor, 2, f"early {number}")
    early = list(Job.objects.filter(pk__in=mine["jobs"]).values_list("attempt_id", flat=True))
    found = run_together(
        lambda: sign_in(visitor, user),
        lambda: sign_in(visitor, user),
        lambda: order_as_visitor(visitor, 4, f"late {number}"),
        lambda: order(user, 9, f"user {number}"),
        lambda: settle_both(early),
    )
    account = account_of_user(user)
    held = Attempt.objects.exclude(state=AttemptState.FAILED)
    return {
        "answers": found,
        "ordered": [job for answer in (mine, *found) for job in answer.get("jobs", [])],
        "owned": [str(pk) for pk in account.jobs.values_list("pk", flat=True)],
        "seats": sorted(held.filter(account=account).values_list("slot", flat=True)),
        "stayed": held.filter(account__moved_to=account).count(),
        "left_behind": Job.objects.filter(account__closed_at__isnull=False).count(),
        "states": list(Attempt.objects.filter(pk__in=early).order_by("pk").values_list("state")),
        "spent": account_of_visitor(visitor).moved_to_id == account.pk,
    }


def sign_in(visitor: str, user: User) -> dict:
    bring_along(visitor=visitor, user=user, now=NOW)
    return {}


def order(user: User, times: int, key: str) -> dict:
    return place(lambda: account_of_user(user), times, key)


def order_as_visitor(visitor: str, times: int, key: str) -> dict:
    """Each order by what was known of the account before the first: as forms on their way."""
    account = account_of_visitor(visitor)
    return place(lambda: account, times, key)


def place(account, times: int, key: str) -> dict:
    got = []
    for number in range(times):
        fields = PictureOrder(prompt="a fox", aspect_ratio="1:1", offer=OFFER)
        form_key = f"{key} {number}"
        got.append(
            order_picture(
                account=account(), order=fields, form_key=form_key, now=NOW, network="192.0.2.1"
            )
        )
    return {
        "jobs": [str(answer.pk) for answer in got if isinstance(answer, Job)],
        "refused": [answer.why for answer in got if not isinstance(answer, Job)],
    }


def settle_both(ids: list[int]) -> dict:
    ends = (AttemptState.SUCCESS, AttemptState.FAILED)
    pairs = zip(sorted(ids), ends, strict=True)
    return {"settled": [settle(attempt_id=pk, state=end, now=NOW) for pk, end in pairs]}


if __name__ == "__main__":
    main()
