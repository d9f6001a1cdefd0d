"""What follows a change of a user: their plan from their role; what stays and goes at the end.

    pre_delete of the user ─────> the account is closed and has no owner; what is queued is
                                  cancelled, and what was sent is marked unwanted
    delete_person(remove=True) ─> in addition, everything of theirs is removed (removal.py)

A request that was sent is pursued to its end, since it may cost money.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.db.models.signals import post_save, pre_delete
from django.dispatch import receiver
from django.utils import timezone
from django_q.models import Task

from jobs import outcomes
from jobs.core import queue
from jobs.core.models import ActionName, Job, JobQuerySet, Picture, StaffAction
from jobs.core.states import JobState
from jobs.people import removal
from quotas import account_merge, accounts
from quotas.models import Account, Attempt, Grant

REMOVED_WITHIN = 2
"""Seconds of the request that deletes; the queue removes the rest."""


@dataclass(frozen=True)
class Belongings:
    jobs: int
    queued: int
    sent: int
    pictures: int
    size: int
    attempts: int
    staff_actions: int


@dataclass(frozen=True)
class Decider:
    """Who deletes, and why. `user` is None on the command line."""

    user: User | None
    name: str
    reason: str


def count_belongings(users: list[User]) -> Belongings:
    theirs = Account.objects.filter(user__in=users)
    jobs = _jobs_of(theirs)
    count = jobs.aggregate(
        all=Count("pk"),
        queued=Count("pk", filter=Q(state=JobState.QUEUED)),
        sent=Count("pk", filter=Q(state__in=outcomes.SENT)),
    )
    pictures = Picture.objects.filter(job__in=jobs).aggregate(all=Count("pk"), size=Sum("size"))
    actions = StaffAction.objects.filter(Q(account__in=theirs) | Q(by__in=users))
    return Belongings(
        jobs=count["all"],
        queued=count["queued"],
        sent=count["sent"],
        pictures=pictures["all"],
        size=pictures["size"] or 0,
        attempts=Attempt.objects.filter(account__in=theirs).count(),
        staff_actions=actions.count(),
    )


@transaction.atomic
def delete_person(user: User, decider: Decider, now: datetime, *, remove: bool) -> None:
    number = user.pk
    account = Account.objects.filter(user=user).first()
    if remove:
        StaffAction.objects.filter(by=user).update(by_name=former_name(user.pk))
        kind = ContentType.objects.get_for_model(User)
        about = LogEntry.objects.filter(content_type=kind, object_id=str(user.pk))
        about.update(object_repr=former_name(user.pk), change_message="")
    user.delete()
    if account and remove:
        Account.objects.filter(pk=account.pk).update(removal_asked_at=now)
        _remove_texts_of(account)
    itself = decider.user is not None and decider.user.pk in (None, number)
    StaffAction.objects.create(
        action=ActionName.DELETE,
        subject=f"user {number}",
        reason=decider.reason,
        facts={"removed": remove},
        by=None if itself else decider.user,
        by_name=former_name(number) if itself and remove else decider.name,
        at=now,
        account=account,
    )
    if remove:
        transaction.on_commit(partial(_finish, number, now))


def former_name(number: int) -> str:
    return f"former user {number}"


@receiver(pre_delete, sender=User)
def follow_deletion(instance: User, **kwargs: object) -> None:
    account = Account.objects.filter(user=instance).first()
    if account:
        now = timezone.now()
        account_merge.close_account(account, now)
        theirs = _jobs_of(Account.objects.filter(pk=account.pk))
        for job_id in list(theirs.open().values_list("pk", flat=True)):
            if not outcomes.cancel(job_id, now):
                outcomes.stop_waiting(job_id, now)


@receiver(post_save, sender=User)
def follow_change(
    instance: User, update_fields: frozenset[str] | None = None, **kwargs: object
) -> None:
    if update_fields is None or "is_staff" in update_fields:
        accounts.follow_role(instance)


def _jobs_of(owners) -> JobQuerySet:
    """And those that a sign-in has not moved yet."""
    return Job.objects.filter(Q(account__in=owners) | Q(account__moved_to__in=owners))


def _remove_texts_of(account: Account) -> None:
    both = Account.objects.filter(Q(pk=account.pk) | Q(moved_to=account))
    Grant.objects.filter(account__in=both).update(reason=removal.REMOVED)
    removal.clear_actions(StaffAction.objects.filter(account__in=both))
    # What is on its way is never sent again, so nothing needs its prompt.
    theirs = _jobs_of(Account.objects.filter(pk=account.pk))
    theirs.open().update(prompt="")
    # Failed tasks of the queue: their result is a traceback.
    for task in Task.objects.filter(success=False, func="jobs.processes.tasks.advance"):
        # It names a stage; in version 0.1.0 it named the job.
        stages = [name for name in task.args or () if isinstance(name, int)]
        jobs = [name for name in task.args or () if isinstance(name, str)]
        if theirs.filter(Q(stages__pk__in=stages) | Q(pk__in=jobs)).exists():
            task.delete()


def _finish(number: int, now: datetime) -> None:
    for session in Session.objects.iterator():
        if session.get_decoded().get("_auth_user_id") == str(number):
            session.delete()
    if removal.run(now, seconds=REMOVED_WITHIN):
        queue.enqueue_removal()
