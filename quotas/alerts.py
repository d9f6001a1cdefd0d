"""Alerts for staff. At most one is open per kind and subject, until its cause is gone."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from quotas.models import Alert, AlertKind

LONGEST_SUBJECT, LONGEST_WORDS = 200, 500
# Two processes may open the same alert at once, and a third may close it in between.
ROUNDS = 10
# A check takes less than this. Anything seen later was written before the clock was set back.
CHECK_LASTS = timedelta(minutes=5)


def open_alert(*, kind: AlertKind, subject: str, now: datetime, words: str = "") -> bool:
    """True if the alert is new. One that is already open gets a new `seen_at` and the new words.

    May run in the caller's transaction, which stays usable when another process is faster.
    """
    subject = subject[:LONGEST_SUBJECT]
    detail = {"words": words[:LONGEST_WORDS]} if words else {}
    for _ in range(ROUNDS):
        if Alert.objects.open().filter(kind=kind, subject=subject).update(seen_at=now, **detail):
            return False
        try:
            with transaction.atomic():
                Alert.objects.create(
                    kind=kind,
                    subject=subject,
                    **detail,
                    opened_at=now,
                    seen_at=now,
                    mail_due_at=now if settings.ALERT_EMAILS else None,
                    post_due_at=now if settings.ALERT_URL else None,
                )
            return True
        except IntegrityError:
            continue
    return False


def close_alert(*, kind: AlertKind, subject: str, now: datetime) -> bool:
    """False if none is open, or another process has just closed it."""
    open_one = Alert.objects.open().filter(kind=kind, subject=subject[:LONGEST_SUBJECT])
    return open_one.update(closed_at=now) == 1


def close_all_but(kind: AlertKind, subjects: Iterable[str], *, seen_by: datetime) -> int:
    """Close what a check at `seen_by` did not find. Alerts seen since then stay open."""
    unseen_since = Q(seen_at__lte=seen_by) | Q(seen_at__gt=seen_by + CHECK_LASTS)
    gone = Alert.objects.open().filter(unseen_since, kind=kind)
    found = [subject[:LONGEST_SUBJECT] for subject in subjects]
    return gone.exclude(subject__in=found).update(closed_at=seen_by)
