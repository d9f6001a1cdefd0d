"""Limits how many new visitors one network may bring in a day. This is quota, so it fails closed.

Becoming a visitor is free, and each visitor has daily slots. So a new visitor takes a seat of its
network and UTC day, in the transaction that writes its account and its first reservation; a
refusal rolls all of it back. The unique index on network, day and number keeps the limit, as with
the slots of an account (`quotas.ledger`). Seats are never given back.

Locks are taken in this order: the new account's row, one seat here, the slot. A transaction that
waits for a seat holds only its new account, which no other transaction uses. A transaction that
holds a seat waits for no other, since all its further locks belong to its own account. So there is
no cycle and no deadlock.
"""

from datetime import date, datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Max, Q, QuerySet

from quotas.days import utc_day
from quotas.models import Account, Newcomer

# Numbers of a day have no gaps, since each is one more than the last committed one.
TAKE_SQL = """
INSERT INTO quotas_newcomer (network, day, number, allowed, account_id, taken_at)
SELECT %(network)s, %(day)s, seats.taken + 1, %(allowed)s, %(account)s, %(now)s
  FROM (SELECT COALESCE(MAX(seat.number), 0) AS taken FROM quotas_newcomer seat
         WHERE seat.day = %(day)s AND seat.network = %(network)s) seats
 WHERE seats.taken < %(allowed)s
ON CONFLICT (day, network, number) DO NOTHING
RETURNING number
"""


def take_seat(*, account: Account, network: str, now: datetime) -> bool:
    """Take a seat for an account whose row is new; False if the network's day is full.

    Call it in the transaction that wrote the row.
    """
    while not _insert_next(account, network, now):
        # Another visitor took that seat. Each round fills one more seat, so the loop ends.
        if not has_room(network, utc_day(now)):
            return False
    return True


def has_room(network: str, day: date) -> bool:
    seats = Newcomer.objects.filter(day=day, network=network)
    last = seats.aggregate(last=Max("number"))["last"]
    return (last or 0) < settings.NEW_VISITORS_A_DAY


def forgettable(now: datetime) -> QuerySet[Newcomer]:
    """Seats of days before yesterday, since a network is kept no longer than needed, and of future
    days, which a clock that was ahead has written."""
    a_day = timedelta(days=1)
    today = utc_day(now)
    return Newcomer.objects.filter(Q(day__lt=today - a_day) | Q(day__gt=today + a_day))


def _insert_next(account: Account, network: str, now: datetime) -> bool:
    parameters = {
        "network": network,
        "day": connection.ops.adapt_datefield_value(utc_day(now)),
        "allowed": settings.NEW_VISITORS_A_DAY,
        "account": account.pk,
        "now": connection.ops.adapt_datetimefield_value(now),
    }
    with connection.cursor() as cursor:
        cursor.execute(TAKE_SQL, parameters)
        return cursor.fetchone() is not None
