"""Alerts for staff: one is open for a kind and a subject, until what it tells of is over."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction

from quotas.models import Alert, AlertKind

LONGEST_WORDS = 500
# Two open it at once, and it may be closed in between.
ROUNDS = 10


def open_alert(*, kind: AlertKind, subject: str, now: datetime, words: str = "") -> bool:
    """True when the alert is new; one that is open already is only seen again.

    May stand in the caller's transaction: losing against another leaves it usable.
    """
    for _ in range(ROUNDS):
        if Alert.objects.open().filter(kind=kind, subject=subject).update(seen_at=now):
            return False
        try:
            with transaction.atomic():
                Alert.objects.create(
                    kind=kind,
                    subject=subject,
                    words=words[:LONGEST_WORDS],
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
    """False when none is open, or another has just closed it."""
    return Alert.objects.open().filter(kind=kind, subject=subject).update(closed_at=now) == 1


def close_all_but(kind: AlertKind, subjects: Iterable[str], *, seen_by: datetime) -> int:
    """Close what a look at `seen_by` did not find; what was met since then stays open."""
    gone = Alert.objects.open().filter(kind=kind, seen_at__lte=seen_by)
    return gone.exclude(subject__in=list(subjects)).update(closed_at=seen_by)
