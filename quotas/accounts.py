"""Finding the account that spends.

Reading never writes: a row is made with the first reservation.
"""

import secrets
from datetime import datetime

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

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


def ensure_saved(account: Account, *, now: datetime) -> Account:
    """The same account with a row; two first requests at once end with the same row."""
    if account.pk:
        return account
    defaults = {"plan": account.plan, "created_at": now}
    if account.user_id:
        saved, _ = Account.objects.get_or_create(user_id=account.user_id, defaults=defaults)
    elif account.visitor:
        saved, _ = Account.objects.get_or_create(visitor=account.visitor, defaults=defaults)
    else:
        saved, _ = Account.objects.get_or_create(name=account.name, defaults=defaults)
    return saved
