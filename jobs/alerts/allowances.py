"""How much is used of what is metered elsewhere: a provider's requests, mail, room for files.

    polza=1000/day   requests of the provider's present day or month, by its own calendar
    mail=300/day     messages of the UTC day or month that a server has taken, or may have taken
    storage=5 GB     bytes of the pictures that are kept
    database=1 GB    bytes of the database

All of it is read from rows when staff's alerts are looked for; nothing is counted as it happens.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time

from django.conf import settings
from django.db import connection
from django.db.models import Sum
from django.utils.translation import gettext as _

from jobs.core.models import Job, Picture
from providers.calls import money
from providers.calls.models import Call
from providers.reasons import Rule
from quotas.days import utc_day
from quotas.models import Alert

# By these rules not a byte has left.
NOT_SENT = (Rule.NEVER_CONNECTED, Rule.SEND_WINDOW_MISSED)
BYTES = "bytes"
UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"))


@dataclass(frozen=True)
class Use:
    name: str
    used: int
    allowed: int
    per: str
    """`day`, `month`, or `bytes`, which are of all time."""

    @property
    def percent(self) -> float:
        return 100 * self.used / self.allowed

    @property
    def words(self) -> str:
        numbers: dict[str, object] = {"used": self.used, "allowed": self.allowed}
        if self.per == BYTES:
            numbers = {"used": _size(self.used), "allowed": _size(self.allowed)}
        says = {
            "day": _("%(used)s of %(allowed)s used today"),
            "month": _("%(used)s of %(allowed)s used this month"),
            BYTES: _("%(used)s of %(allowed)s used"),
        }
        return says[self.per] % numbers


def in_use(now: datetime) -> Iterator[Use]:
    """Of each allowance that the operator named."""
    for name, (allowed, per) in sorted(settings.ALLOWANCES.items()):
        yield Use(name, _used(name, per, now), allowed, per)


def _used(name: str, per: str, now: datetime) -> int:
    if per == BYTES:
        return STORED[name]()
    if name == "mail":
        today = datetime.combine(utc_day(now), time.min, UTC)
        return mails_since(_begins(today, per))
    day_begins, _ends = money.day_of(name, now)
    return requests_since(name, _begins(day_begins, per))


def _begins(day: datetime, per: str) -> datetime:
    return day.replace(day=1) if per == "month" else day


def requests_since(provider: str, at: datetime) -> int:
    """Includes refused requests, but not requests that certainly were not sent."""
    sent = Call.objects.filter(provider=provider, sent_at__gte=at)
    return sent.exclude(rule__in=NOT_SENT).count()


def mails_since(at: datetime) -> int:
    """One for each who gets it: an alert goes to all of ALERT_EMAILS."""
    notices = Job.objects.filter(notified_at__gte=at).count()
    return notices + len(settings.ALERT_EMAILS) * Alert.objects.filter(mailed_at__gte=at).count()


def stored_bytes() -> int:
    return Picture.objects.aggregate(total=Sum("size"))["total"] or 0


def database_bytes() -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            return _number(cursor, "SELECT pg_database_size(current_database())")
        return _number(cursor, "PRAGMA page_count") * _number(cursor, "PRAGMA page_size")


STORED: dict[str, Callable[[], int]] = {"storage": stored_bytes, "database": database_bytes}


def _number(cursor, sql: str) -> int:
    cursor.execute(sql)
    return cursor.fetchone()[0]


def _size(number: int) -> str:
    unit, name = next((pair for pair in UNITS if number >= pair[0]), UNITS[-1])
    return f"{number / unit:.1f} {name}"
