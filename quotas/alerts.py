"""Alerts for staff: one is open for a kind and a subject, until what it tells of is over."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from quotas.models import Alert, AlertKind

LONGEST_SUBJECT, LONGEST_WORDS = 200, 500
# Two open it at once, and it may be closed in between.
ROUNDS = 10
# Nothing was met later than this after a look, unless the clock was set back since.
LOOK_LASTS = timedelta(minutes=5)


def open_alert(*, kind: AlertKind, subject: str, now: datetime, words: str = "") -> bool:
    """True when the alert is new; one that is open already is only seen again, in the words that
    are true now.

    May stand in the caller's transaction: losing against another leaves it usable.
    """
    subject = subject[:LONGEST_SUBJECT]
    told = {"words": words[:LONGEST_WORDS]} if words else {}
    for _ in range(ROUNDS):
        if Alert.objects.open().filter(kind=kind, subject=subject).update(seen_at=now, **told):
            return False
        try:
            with transaction.atomic():
                Alert.objects.create(
                    kind=kind,
                    subject=subject,
                    **told,
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
    open_one = Alert.objects.open().filter(kind=kind, subject=subject[:LONGEST_SUBJECT])
    return open_one.update(closed_at=now) == 1


def close_all_but(kind: AlertKind, subjects: Iterable[str], *, seen_by: datetime) -> int:
    """Close what a look at `seen_by` did not find; what was met since then stays open."""
    unseen_since = Q(seen_at__lte=seen_by) | Q(seen_at__gt=seen_by + LOOK_LASTS)
    gone = Alert.objects.open().filter(unseen_since, kind=kind)
    found = [subject[:LONGEST_SUBJECT] for subject in subjects]
    return gone.exclude(subject__in=found).update(closed_at=seen_by)
