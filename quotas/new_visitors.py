"""How many visitors may come anew from one network in a day. Quota, not rate: it never fails open.

A visitor costs nobody anything to become, and each has slots of a day. So a new one takes a seat
of its network and UTC day, in the transaction that writes its account and its first reservation;
where that is refused nothing is left of it. The unique index on network, day and number is what
keeps the bound, as with the slots of an account (`quotas.ledger`). Seats are not given back.

Locks come in this order: the new account's row, one seat here, the slot. Whoever waits for a seat
holds nothing but an account that is nobody else's yet; whoever holds a seat waits for nothing that
another transaction holds, since all it still asks for belongs to its own account. So there is no
circle, and no deadlock.
"""

from datetime import date, datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Max, Q, QuerySet

from quotas.ledger import utc_day
from quotas.models import Account, Newcomer

# Numbers of a day have no gaps: the next is tried only by who sees the one before committed.
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
    """Let the account, whose row is new, in; False where the network's day is full.

    To be called in the transaction that wrote the row.
    """
    while not _insert_next(account, network, now):
        # Another took that seat at the same moment. Each turn one more is taken, so it ends.
        if not has_room(network, utc_day(now)):
            return False
    return True


def has_room(network: str, day: date) -> bool:
    seats = Newcomer.objects.filter(day=day, network=network)
    last = seats.aggregate(last=Max("number"))["last"]
    return (last or 0) < settings.NEW_VISITORS_A_DAY


def forgettable(now: datetime) -> QuerySet[Newcomer]:
    """Those of days before yesterday, since a network is kept no longer than it counts, and those
    of future days, which a clock that was ahead has written."""
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
