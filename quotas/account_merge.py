"""From a visitor to a user: the account is taken over whole, or closed for one that exists.

Either spends the visitor's id: whoever still comes with it finds a closed account, where nothing
is reserved. So a form that is on its way while its person signs in is refused, and never lost on
an account that nobody looks at.
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from quotas.accounts import VISITOR, account_of_user, ensure_saved, follow_role
from quotas.models import Account, Plan


def account_for(*, visitor: str, user: User, now: datetime) -> Account:
    """The user's account, with the visitor's day taken over where the user had none before.

    Where the user had one, the visitor's account is closed for it, and its jobs and attempts are
    still to be moved. Safe to be run again, and by two at once.
    """
    follow_role(user)
    taken_over = sign_up(visitor=visitor, user=user, now=now)
    if taken_over:
        return taken_over
    account = ensure_saved(account_of_user(user), now=now)
    close_visitor(visitor=visitor, to=account, now=now)
    return account


def sign_up(*, visitor: str, user: User, now: datetime) -> Account | None:
    """The visitor's account becomes the user's: nothing moves, the day's use stays.

    None where there is none to take over, or the user has one; nothing is changed then.
    """
    if Account.objects.filter(user=user).exists():
        return None
    try:
        with transaction.atomic():
            return _take_over(visitor, user, now)
    except IntegrityError:
        # Somebody else was first to give the user an account.
        return None


def close_visitor(*, visitor: str, to: Account, now: datetime) -> bool:
    """Nothing is reserved on the visitor's account from now on. False when it was closed before.

    A row is written even where there was none: a form of this visitor may be on its way.
    """
    plan = Plan.objects.get(name=VISITOR)
    closed = {"closed_at": now, "moved_to": to}
    account, is_new = Account.objects.get_or_create(
        visitor=visitor, defaults={"plan": plan, "created_at": now, **closed}
    )
    return is_new or Account.objects.open().filter(pk=account.pk).update(**closed) == 1


def leave_account(account: Account, now: datetime) -> bool:
    """Its person was deleted: it has no owner from now on. False when it was closed before."""
    nobody = {"user": None, "visitor": None, "name": None}
    return Account.objects.open().filter(pk=account.pk).update(closed_at=now, **nobody) == 1


def _take_over(visitor: str, user: User, now: datetime) -> Account | None:
    """A plan that staff chose for the visitor stays."""
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
