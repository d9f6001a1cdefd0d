"""The balances of many accounts at once, for a list: four queries, however long it is."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date

from django.db.models import Count, Q, Sum

from quotas.ledger import Balance
from quotas.models import Account, Allowance, Attempt, Grant, Kind
from quotas.states import AttemptState

EMPTY = {"allowed": 0, "used": 0, "on_hold": 0, "tries": 0}

Counts = dict[tuple[int, str], dict[str, int]]


def read_balances(accounts: Sequence[Account], day: date) -> dict[tuple[int, str], Balance]:
    """By account id and kind. Every account must have a row."""
    found = _allowed(accounts, day)
    for key, counts in [*_held(accounts, day).items(), *_tries(accounts, day).items()]:
        found[key].update(counts)
    return {
        (account.pk, kind): Balance(kind=kind, day=day, **(EMPTY | found[account.pk, kind]))
        for account in accounts
        for kind in Kind.values
    }


def _allowed(accounts: Sequence[Account], day: date) -> Counts:
    planned = {
        (row.plan_id, row.kind): row.slots
        for row in Allowance.objects.filter(plan__in={account.plan_id for account in accounts})
    }
    extra = _by_account(Grant.objects, accounts, day).annotate(extra=Sum("slots"))
    granted = {(row["account"], row["kind"]): row["extra"] for row in extra}
    found: Counts = defaultdict(dict)
    for account in accounts:
        for kind in Kind.values:
            slots = planned.get((account.plan_id, kind), 0) + granted.get((account.pk, kind), 0)
            found[account.pk, kind] = {"allowed": slots}
    return found


def _held(accounts: Sequence[Account], day: date) -> Counts:
    rows = _by_account(Attempt.objects.exclude(state=AttemptState.FAILED), accounts, day)
    rows = rows.annotate(
        used=Count("pk", filter=Q(state=AttemptState.SUCCESS)),
        on_hold=Count("pk", filter=Q(state=AttemptState.PENDING)),
    )
    return {
        (row["account"], row["kind"]): {"used": row["used"], "on_hold": row["on_hold"]}
        for row in rows
    }


def _tries(accounts: Sequence[Account], day: date) -> Counts:
    rows = _by_account(Attempt.objects.filter(cost_nothing=False), accounts, day)
    rows = rows.annotate(tries=Count("pk"))
    return {(row["account"], row["kind"]): {"tries": row["tries"]} for row in rows}


def _by_account(rows, accounts: Sequence[Account], day: date):
    """Filters by kind too, so that the whole index on account, kind and day is used."""
    rows = rows.filter(account__in=accounts, kind__in=Kind.values, day=day)
    return rows.values("account", "kind").order_by()
