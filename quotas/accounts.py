"""Finds the account that pays for a job with its slots.

Reading writes nothing. The first reservation creates the row.
"""

import secrets
from datetime import datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import QuerySet

from quotas.models import Account, Plan

# Plans that a first reservation may assign. Staff may change their slots but not their names.
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
    """Staff get the plan `operator` and other users `free`. A plan that staff chose for the account
    stays. True if the plan changed."""
    was, is_now = (FREE, OPERATOR) if user.is_staff else (OPERATOR, FREE)
    mine = Account.objects.filter(user=user, plan__name=was)
    return mine.update(plan=Plan.objects.get(name=is_now)) > 0


def new_visitor() -> str:
    """An id that cannot be guessed, since it gives access to the visitor's pictures."""
    return secrets.token_urlsafe(24)


def account_of_visitor(visitor: str) -> Account:
    """The visitor's account, which may be closed; unsaved (no pk) before the first reservation."""
    found = Account.objects.select_related("plan").filter(visitor=visitor).first()
    return found or Account(visitor=visitor, plan=Plan.objects.get(name=VISITOR))


def account_named(name: str) -> Account:
    """The account for a command-line name, or that of the user with this username."""
    found = Account.objects.select_related("plan").filter(name=name).first()
    if found:
        return found
    user = get_user_model().objects.filter(username=name).first()
    if user:
        return account_of_user(user)
    plan = OPERATOR if name == OPERATOR else FREE
    return Account(name=name, plan=Plan.objects.get(name=plan))


def rows_of(account: Account) -> QuerySet[Account]:
    """The account's row, if it has been saved meanwhile."""
    if account.pk:
        return Account.objects.filter(pk=account.pk)
    return Account.objects.filter(**_identity_of(account))


def ensure_saved(account: Account, *, now: datetime) -> Account:
    """The same account with a row. Two first requests at once get the same row."""
    return save_if_new(account, now=now)[0]


def save_if_new(account: Account, *, now: datetime) -> tuple[Account, bool]:
    """The account, and True if this call wrote its row."""
    if account.pk:
        return account, False
    defaults = {"plan": account.plan, "created_at": now}
    return Account.objects.get_or_create(**_identity_of(account), defaults=defaults)


def _identity_of(account: Account) -> dict[str, object]:
    if account.user_id:
        return {"user_id": account.user_id}
    return {"visitor": account.visitor} if account.visitor else {"name": account.name}
