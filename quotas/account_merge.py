"""Merges a visitor's account into a user's when the visitor signs in.

A user without an account takes the visitor's over. Otherwise the visitor's account is closed. In
both cases the visitor id then leads to a closed account, which reserves nothing. So a form that
is submitted during the sign-in is refused, and its job is not lost on an account that no page
shows.
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from quotas.accounts import VISITOR, account_of_user, ensure_saved, follow_role
from quotas.models import Account, Plan


def merge_visitor_into_user(*, visitor: str, user: User, now: datetime) -> Account:
    """Return the user's account, which is the visitor's if the user had none.

    If the user had one, the visitor's account is closed and the caller still has to move its jobs
    and attempts. Safe to repeat and to run twice at once.
    """
    follow_role(user)
    taken_over = sign_up(visitor=visitor, user=user, now=now)
    if taken_over:
        return taken_over
    account = ensure_saved(account_of_user(user), now=now)
    close_visitor(visitor=visitor, to=account, now=now)
    return account


def sign_up(*, visitor: str, user: User, now: datetime) -> Account | None:
    """Make the visitor's account the user's. Nothing moves; the day's use stays.

    Returns None and changes nothing if the visitor has no account or the user already has one.
    """
    if Account.objects.filter(user=user).exists():
        return None
    try:
        with transaction.atomic():
            return _take_over(visitor, user, now)
    except IntegrityError:
        # Another request gave the user an account first.
        return None


def close_visitor(*, visitor: str, to: Account, now: datetime) -> bool:
    """Close the visitor's account, which then reserves nothing. False if it was closed already.

    Writes a row even if there was none, since a form of this visitor may arrive later.
    """
    plan = Plan.objects.get(name=VISITOR)
    closed = {"closed_at": now, "moved_to": to}
    account, is_new = Account.objects.get_or_create(
        visitor=visitor, defaults={"plan": plan, "created_at": now, **closed}
    )
    return is_new or Account.objects.open().filter(pk=account.pk).update(**closed) == 1


def close_account(account: Account, now: datetime) -> bool:
    """Close the account of a deleted person. It has no owner then. False if closed already."""
    no_owner = {"user": None, "visitor": None, "name": None}
    return Account.objects.open().filter(pk=account.pk).update(closed_at=now, **no_owner) == 1


def _take_over(visitor: str, user: User, now: datetime) -> Account | None:
    """Keeps a plan that staff chose for the visitor."""
    mine = Account.objects.open().filter(visitor=visitor)
    visitors_plan, plan = Plan.objects.get(name=VISITOR), account_of_user(user).plan
    account = mine.first()
    if account is None:
        return None
    if account.plan_id != visitors_plan.pk:
        plan = account.plan
    if not mine.filter(pk=account.pk).update(user=user, visitor=None, plan=plan):
        return None
    Account.objects.create(
        visitor=visitor, plan=visitors_plan, created_at=now, closed_at=now, moved_to=account
    )
    return Account.objects.select_related("plan").get(pk=account.pk)
