"""Alerts for staff: one is open for a kind and a subject, until what it tells of is over."""

from datetime import datetime

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
                )
            return True
        except IntegrityError:
            continue
    return False


def close_alert(*, kind: AlertKind, subject: str, now: datetime) -> bool:
    """False when none is open, or another has just closed it."""
    return Alert.objects.open().filter(kind=kind, subject=subject).update(closed_at=now) == 1
