"""Rows that nothing needs any more once they are old, by table; and what bounds every other table.

A table that is in neither list fails a test: it would grow without a decision.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db.models import Exists, Max, OuterRef, QuerySet

from jobs.core.models import Job, StaffAction
from providers.calls.models import Hook, SmokeTest
from providers.calls.states import CallState
from quotas.days import utc_day
from quotas.models import Account, Alert, Attempt, Grant, Newcomer, Unmeasured

A_DAY = timedelta(days=1)
"""Longer than any form is on its way."""


def sessions(now: datetime) -> QuerySet:
    return Session.objects.filter(expire_date__lte=now - A_DAY)


def spent_visitors(now: datetime) -> QuerySet:
    """Accounts that a sign-in closed, of browsers that had nothing: a form of theirs that was on
    its way has been refused by now. A browser that sends that id later is a new visitor."""
    closed = Account.objects.filter(moved_to__isnull=False, closed_at__lte=now - A_DAY)
    for model in (Job, Attempt, Grant, Newcomer, StaffAction):
        closed = closed.filter(~Exists(model._base_manager.filter(account=OuterRef("pk"))))
    return closed.filter(~Exists(Account.objects.filter(moved_to=OuterRef("pk"))))


def alerts(now: datetime) -> QuerySet:
    return Alert.objects.filter(closed_at__lte=now - settings.EVENTS_KEPT)


def smoke_tests(now: datetime) -> QuerySet:
    """But for the newest of each provider, which the dashboard shows."""
    newest = SmokeTest.objects.order_by().values("provider").annotate(last=Max("pk"))
    old = SmokeTest.objects.filter(ended_at__lte=now - settings.EVENTS_KEPT)
    return old.exclude(pk__in=newest.values("last"))


def webhooks(now: datetime) -> QuerySet:
    """Of calls that ended by evidence and rest. A given-up call keeps those that named its run."""
    old = now - settings.EVENTS_KEPT
    rest = Hook.objects.filter(call__ended_at__lte=old, call__poll_at=None, received_at__lte=old)
    return rest.exclude(call__state=CallState.GIVEN_UP)


def unmeasured(now: datetime) -> QuerySet:
    return Unmeasured.objects.filter(day__lt=utc_day(now - settings.EVENTS_KEPT))


def grants(now: datetime) -> QuerySet:
    """Of days that are long over; the decision stays among the staff actions."""
    return Grant.objects.filter(day__lt=utc_day(now - settings.CALLS_KEPT))


def log_entries(now: datetime) -> QuerySet:
    return LogEntry.objects.filter(action_time__lte=now - settings.CALLS_KEPT)


OLD: dict[str, Callable[[datetime], QuerySet]] = {
    "sessions": sessions,
    "spent visitors": spent_visitors,
    "alerts": alerts,
    "smoke tests": smoke_tests,
    "webhooks": webhooks,
    "unmeasured requests": unmeasured,
    "grants": grants,
    "admin log": log_entries,
}

# By table: the chore that bounds it, or why its rows are bounded.
CHORE_OF = {
    "admin.LogEntry": "admin log",
    "django_q.Task": "failed tasks",
    "jobs.UnreadResult": "unread results",
    "providers.Hook": "webhooks",
    "providers.SmokeTest": "smoke tests",
    "quotas.Account": "spent visitors",
    "quotas.Alert": "alerts",
    "quotas.Grant": "grants",
    "quotas.Newcomer": "new visitors",
    "quotas.Unmeasured": "unmeasured requests",
    "sessions.Session": "sessions",
}
BOUND_OF = {
    "auth.Group": "One a group that superusers make.",
    "auth.Group_permissions": "At most one a group and permission.",
    "auth.Permission": "Made by migrations: a few for each table.",
    "auth.User": "One a person whom staff have made, until they delete them.",
    "auth.User_groups": "At most one a person and group.",
    "auth.User_user_permissions": "At most one a person and permission.",
    "contenttypes.ContentType": "Made by migrations: one a table.",
    "django_q.OrmQ": "One a message that no worker has taken yet; taken ones go.",
    "django_q.Schedule": "The fixed schedules of jobs/engine/schedules.py; others are removed.",
    "jobs.Event": "One a change of a job: a few for each try, kept with it.",
    "jobs.Heartbeat": "One a part of the site: two.",
    "jobs.Job": "One an order, kept for good: the record of what was asked for.",
    "jobs.Lease": "One a duty, removed when it is given back.",
    "jobs.Picture": "One a picture, until its person or staff remove it; those of visitors and of"
    " former users go after VISITOR_PICTURES_KEPT.",
    "jobs.StaffAction": "One a decision of staff, kept for good.",
    "jobs.Stage": "One to send and one a result of an order, kept with it.",
    "providers.Call": "One a request to a provider, kept for good: it is the record of its cost.",
    "providers.CallResult": "A few a call, kept with it; their files go once they are delivered.",
    "providers.Gate": "One a provider and model among the settings.",
    "providers.Restore": "One a restore by hand, kept for good.",
    "quotas.Allowance": "At most one a plan and kind of job.",
    "quotas.Attempt": "One an order, kept for good: the ledger of slots.",
    "quotas.Plan": "One a plan that staff make.",
    "quotas.Site": "One row.",
}
EMPTY_OF = {
    "django_q.Failure": "The failed rows of django_q.Task.",
    "django_q.Success": "None: successes are not saved.",
}
