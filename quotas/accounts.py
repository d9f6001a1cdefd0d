"""Finding the account that spends.

Reading never writes: a row is made with the first reservation.
"""

import secrets
from datetime import datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import QuerySet

from quotas.models import Account, Plan

# The plans that a first reservation may give; staff change their numbers, never their names.
VISITOR = "visitor"
FREE = "free"
OPERATOR = "operator"
NEEDED_PLANS = frozenset({VISITOR, FREE, OPERATOR})


def account_of_user(user: User) -> Account:
    """The user's account; unsaved (no pk) before the first reservation."""
    found = Account.objects.select_related("plan").filter(user=user).first()
    plan = OPERATOR if user.is_staff else FREE
    return found or Account(user=user, plan=Plan.objects.get(name=plan))


def follow_role(user: User) -> bool:
    """The plan `operator` belongs to staff, and `free` to everybody else; one that staff chose for
    the account stays. True where the plan has changed."""
    was, is_now = (FREE, OPERATOR) if user.is_staff else (OPERATOR, FREE)
    mine = Account.objects.filter(user=user, plan__name=was)
    return mine.update(plan=Plan.objects.get(name=is_now)) > 0


def new_visitor() -> str:
    """An id that nobody can guess: whoever has it sees the visitor's pictures."""
    return secrets.token_urlsafe(24)


def account_of_visitor(visitor: str) -> Account:
    """The visitor's account, perhaps a closed one; unsaved (no pk) before the first reservation."""
    found = Account.objects.select_related("plan").filter(visitor=visitor).first()
    return found or Account(visitor=visitor, plan=Plan.objects.get(name=VISITOR))


def account_named(name: str) -> Account:
    """An account of the command line: a name made there, or the user of that name."""
    found = Account.objects.select_related("plan").filter(name=name).first()
    if found:
        return found
    user = get_user_model().objects.filter(username=name).first()
    if user:
        return account_of_user(user)
    plan = OPERATOR if name == OPERATOR else FREE
    return Account(name=name, plan=Plan.objects.get(name=plan))


def rows_of(account: Account) -> QuerySet[Account]:
    """The account's row, where it has one by now."""
    if account.pk:
        return Account.objects.filter(pk=account.pk)
    return Account.objects.filter(**_identity_of(account))


def ensure_saved(account: Account, *, now: datetime) -> Account:
    """The same account with a row; two first requests at once end with the same row."""
    return save_if_new(account, now=now)[0]


def save_if_new(account: Account, *, now: datetime) -> tuple[Account, bool]:
    """With True for the one whose row it is that was written."""
    if account.pk:
        return account, False
    defaults = {"plan": account.plan, "created_at": now}
    return Account.objects.get_or_create(**_identity_of(account), defaults=defaults)


def _identity_of(account: Account) -> dict[str, object]:
    if account.user_id:
        return {"user_id": account.user_id}
    return {"visitor": account.visitor} if account.visitor else {"name": account.name}
