"""Reserve, settle, move, remaining: the only code that opens, closes or moves an attempt.

MUST rules: reserve before anything costs money; one reservation or move a transaction (two can
deadlock); settle by compare-and-set on `pending`; compute what is left from rows, never from a
counter.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from django.db import connection, transaction

from quotas.days import utc_day
from quotas.models import Account, Allowance, Attempt
from quotas.states import ENDS, HELD, AttemptState

# A seat may become free between the refusal and the read of the balance. Then try again.
ROUNDS = 100
# Bounds the daily attempts that may have cost money, so a refused prompt is not billed forever.
TRIES_A_SLOT, TRIES_BESIDES = 3, 5


@dataclass(frozen=True)
class Balance:
    """An account's slots of one kind and UTC day: allowed = left + on_hold + used, unless its plan
    shrank."""

    kind: str
    allowed: int
    used: int
    on_hold: int
    tries: int
    day: date

    @property
    def left(self) -> int:
        return max(0, self.allowed - self.used - self.on_hold)

    @property
    def most_tries(self) -> int:
        return TRIES_A_SLOT * self.allowed + TRIES_BESIDES

    @property
    def renews_at(self) -> datetime:
        return datetime.combine(self.day + timedelta(days=1), time.min, UTC)


@dataclass(frozen=True)
class Refused:
    why: Literal["full", "too_many_tries", "closed", "new_visitors"]
    balance: Balance


def read_balance(account: Account, kind: str, day: date) -> Balance:
    """One query on one snapshot. Reads the plan again, because staff may have changed it."""
    if not account.pk:
        slots = Allowance.objects.filter(plan=account.plan_id, kind=kind).values_list("slots")
        allowed = (slots.first() or (0,))[0]
        return Balance(kind=kind, allowed=allowed, used=0, on_hold=0, tries=0, day=day)
    with connection.cursor() as cursor:
        cursor.execute(BALANCE_SQL, _parameters(account, kind, day))
        allowed, used, on_hold, tries = cursor.fetchone()
    return Balance(kind=kind, allowed=allowed, used=used, on_hold=on_hold, tries=tries, day=day)


def reserve(*, account: Account, kind: str, now: datetime) -> Attempt | Refused:
    """Take the lowest free seat of the UTC day, or return a reason. The account must have a row."""
    day = utc_day(now)
    for _ in range(ROUNDS):
        attempt = _insert_lowest_free_seat(account, kind, day, now)
        if attempt:
            return attempt
        balance = read_balance(account, kind, day)
        if not Account.objects.open().filter(pk=account.pk).exists():
            return Refused("closed", balance)
        if balance.left == 0:
            return Refused("full", balance)
        if balance.tries >= balance.most_tries:
            return Refused("too_many_tries", balance)
    return Refused("full", balance)


def settle(
    *, attempt_id: int, state: AttemptState, now: datetime, cost_nothing: bool = False
) -> bool:
    """Close a pending attempt. Returns False and changes nothing if it had ended before."""
    if state not in ENDS:
        raise ValueError(f"an attempt is settled as success or failed, not {state}")
    pending = Attempt.objects.filter(pk=attempt_id, state=AttemptState.PENDING)
    ended = pending.update(
        state=state,
        settled_at=now,
        cost_nothing=cost_nothing and state == AttemptState.FAILED,
    )
    return ended == 1


@transaction.atomic
def move(*, attempt_id: int, to: Account, now: datetime) -> bool:
    """Move an attempt of today to another account. False if it stays where it is.

    A held attempt takes the lowest free seat there, or stays if none is free. A failed one still
    counts as a try of the day. The state does not change. Attempts of earlier days stay.
    """
    _lock(to)
    attempt = Attempt.objects.select_for_update().get(pk=attempt_id)
    if attempt.account_id == to.pk:
        return True
    if attempt.day != utc_day(now):
        return False
    columns: dict[str, int] = {}
    if attempt.state in HELD:
        seat = _lowest_free_seat(to, attempt.kind, attempt.day)
        if seat is None:
            return False
        columns = {"slot": seat[0], "allowed": seat[1]}
    return Attempt.objects.filter(pk=attempt_id).update(account=to, **columns) == 1


# `NOT (state = 'failed')` and `NOT cost_nothing` are spelled as Django renders the conditions of
# the indexes: otherwise SQLite does not use them, and a reservation reads the account's history.
ALLOWANCE_SQL = """
SELECT COALESCE(SUM(part.slots), 0) AS slots FROM (
    SELECT planned.slots FROM quotas_allowance planned
      JOIN quotas_account spender ON spender.plan_id = planned.plan_id
     WHERE spender.id = %(account)s AND planned.kind = %(kind)s
    UNION ALL
    SELECT extra.slots FROM quotas_grant extra
     WHERE extra.account_id = %(account)s AND extra.kind = %(kind)s AND extra.day = %(day)s
) part
"""

TRIES_SQL = """
SELECT COUNT(*) FROM quotas_attempt tried
 WHERE tried.account_id = %(account)s AND tried.kind = %(kind)s AND tried.day = %(day)s
   AND NOT tried.cost_nothing
"""

BALANCE_SQL = f"""
SELECT allowance.slots, seats.used, seats.on_hold, ({TRIES_SQL})
  FROM ({ALLOWANCE_SQL}) allowance,
       (SELECT COUNT(CASE WHEN seat.state = 'success' THEN 1 END) AS used,
               COUNT(CASE WHEN seat.state = 'pending' THEN 1 END) AS on_hold
          FROM quotas_attempt seat
         WHERE seat.account_id = %(account)s AND seat.kind = %(kind)s AND seat.day = %(day)s
           AND NOT (seat.state = 'failed')) seats
"""

# The lowest free seat is the first place in the row where the number is not the place's own. One
# scan finds it and counts the held seats; comparing each seat with its successor by NOT EXISTS
# took PostgreSQL 60 times as long at 1,000 seats, since its statistics know nothing of a new day.
# The count is for the day a plan is lowered; that a seat is sold once is the unique index's work.
SEAT_SQL = f"""
  FROM ({ALLOWANCE_SQL}) allowance,
       (SELECT COUNT(*) AS held,
               COALESCE(MIN(CASE WHEN seat.slot <> seat.place THEN seat.place END),
                        COUNT(*) + 1) AS free
          FROM (SELECT taken.slot, ROW_NUMBER() OVER (ORDER BY taken.slot) AS place
                  FROM quotas_attempt taken
                 WHERE taken.account_id = %(account)s AND taken.kind = %(kind)s
                   AND taken.day = %(day)s AND NOT (taken.state = 'failed')) seat) seats
 WHERE seats.held < allowance.slots AND seats.free <= allowance.slots
"""

FREE_SEAT_SQL = f"SELECT seats.free, allowance.slots {SEAT_SQL}"

COLUMNS = ", ".join(field.attname for field in Attempt._meta.concrete_fields)

RESERVE_SQL = f"""
INSERT INTO quotas_attempt
       (account_id, kind, day, slot, allowed, state, cost_nothing, reserved_at)
SELECT %(account)s, %(kind)s, %(day)s, seats.free, allowance.slots, 'pending', FALSE, %(now)s
{SEAT_SQL}
   AND ({TRIES_SQL}) < {TRIES_A_SLOT} * allowance.slots + {TRIES_BESIDES}
   AND EXISTS (SELECT 1 FROM quotas_account spender
                WHERE spender.id = %(account)s AND spender.closed_at IS NULL)
ON CONFLICT (account_id, kind, day, slot) WHERE NOT (state = 'failed') DO NOTHING
RETURNING {COLUMNS}
"""


# One reservation of an account after the other, until the end of the transaction. The unique index
# alone keeps every seat single, but not the count when a plan is lowered: two statements on
# PostgreSQL that see different free seats do not see each other (3 of 28,698 seats went over under
# load). The lock is a statement of its own, since the snapshot of the insert must come after it;
# SQLite has one writer and needs none.
LOCK_SQL = "SELECT 1 FROM quotas_account WHERE id = %(account)s FOR NO KEY UPDATE"


def _lock(account: Account) -> None:
    if connection.features.has_select_for_update:
        with connection.cursor() as cursor:
            cursor.execute(LOCK_SQL, {"account": account.pk})


def _insert_lowest_free_seat(
    account: Account, kind: str, day: date, now: datetime
) -> Attempt | None:
    """The new attempt, or None if no seat is free."""
    parameters = _parameters(account, kind, day)
    parameters["now"] = connection.ops.adapt_datetimefield_value(now)
    with connection.cursor() as cursor:
        if connection.features.has_select_for_update:
            # Two statements in one message: one transaction even in autocommit, each with a
            # snapshot of its own. Sent apart with BEGIN and COMMIT they take four round trips.
            cursor.execute(f"{LOCK_SQL};{RESERVE_SQL}", parameters)
            cursor.nextset()
        else:
            cursor.execute(RESERVE_SQL, parameters)
        row = cursor.fetchone()
    return _read_attempt(row) if row else None


def _read_attempt(row: tuple[Any, ...]) -> Attempt:
    """Build the model from RETURNING. SQLite returns dates as text, so Django's converters run."""
    names: list[str] = []
    values: list[Any] = []
    for field, value in zip(Attempt._meta.concrete_fields, row, strict=True):
        column = field.cached_col
        for convert in connection.ops.get_db_converters(column):
            value = convert(value, column, connection)
        names.append(field.attname)
        values.append(value)
    return Attempt.from_db(connection.alias, names, values)


def _lowest_free_seat(account: Account, kind: str, day: date) -> tuple[int, int] | None:
    """The seat number and the allowance. Valid while the account's row is locked."""
    with connection.cursor() as cursor:
        cursor.execute(FREE_SEAT_SQL, _parameters(account, kind, day))
        return cursor.fetchone()


def _parameters(account: Account, kind: str, day: date) -> dict[str, Any]:
    return {
        "account": account.pk,
        "kind": kind,
        "day": connection.ops.adapt_datefield_value(day),
    }
