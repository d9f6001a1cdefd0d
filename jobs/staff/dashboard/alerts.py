"""The alerts that are open, worst first."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, IntegerField, Value, When

from quotas.models import Alert, AlertKind

MOST = 20
# First what may cost money or a picture, then what has stopped, then warnings.
WORST_FIRST = (
    AlertKind.OTHER_RUN,
    AlertKind.CONTRADICTION,
    AlertKind.COPY,
    AlertKind.UNREAD,
    AlertKind.STORAGE,
    AlertKind.SILENT,
    AlertKind.IN_DOUBT,
    AlertKind.OVERDUE,
    AlertKind.PROVIDER_PAUSED,
    AlertKind.PROVIDER_BLOCKED,
    AlertKind.SMOKE,
    AlertKind.LIMITER,
    AlertKind.SPEND,
    AlertKind.ALLOWANCE,
)
ABOUT_A_CALL = {AlertKind.CONTRADICTION, AlertKind.UNREAD}
"""Their subject ends with the number of the call."""
RANK = Case(
    *(When(kind=kind, then=Value(rank)) for rank, kind in enumerate(WORST_FIRST)),
    default=Value(len(WORST_FIRST)),
    output_field=IntegerField(),
)


@dataclass(frozen=True)
class Trouble:
    id: int
    kind: str
    subject: str
    words: str
    opened_at: datetime
    age: timedelta
    call_id: int | None
    """The call that staff may decide about."""


def open_troubles(now: datetime) -> list[Trouble]:
    """The oldest first among those that are equally bad; MOST at most."""
    alerts = Alert.objects.open().order_by(RANK, "opened_at", "pk")[:MOST]
    return [
        Trouble(
            id=alert.pk,
            kind=alert.get_kind_display(),
            subject=alert.subject,
            words=alert.words,
            opened_at=alert.opened_at,
            age=now - alert.opened_at,
            call_id=_call_of(alert),
        )
        for alert in alerts
    ]


def _call_of(alert: Alert) -> int | None:
    number = alert.subject.rpartition(" ")[2]
    return int(number) if alert.kind in ABOUT_A_CALL and number.isdecimal() else None
