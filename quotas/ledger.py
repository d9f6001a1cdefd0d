"""Reserve, settle, remaining: the only code that opens or closes an attempt.

MUST rules: reserve before anything costs money; one reservation a transaction (two can deadlock);
settle by compare-and-set on `pending`; compute what is left from rows, never from a counter.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from django.db import connection
from django.db.models import Count, Q, Sum

from quotas.models import Account, Allowance, Attempt, Grant
from quotas.states import ENDS, AttemptState

# The seat found free can be taken by another request at the same moment (PostgreSQL); then the
# next round finds the next seat. Every lost round is a seat that somebody else got.
ROUNDS = 10_000


@dataclass(frozen=True)
class Balance:
    """An account's slots of one UTC day: allowed = left + on_hold + used, unless a plan shrank."""

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
        """Attempts a day that may have cost money: a refused prompt cannot be billed for ever."""
        return 3 * self.allowed + 5

    @property
    def renews_at(self) -> datetime:
        return datetime.combine(self.day + timedelta(days=1), time.min, UTC)


@dataclass(frozen=True)
class Refused:
    why: Literal["full", "too_many_tries"]
    balance: Balance


def utc_day(now: datetime) -> date:
    return now.astimezone(UTC).date()


def allowance_of(account: Account, kind: str, day: date) -> int:
    slots = Allowance.objects.filter(plan_id=account.plan_id, kind=kind)
    planned = slots.values_list("slots", flat=True).first() or 0
    if not account.pk:
        return planned
    grants = Grant.objects.filter(account=account, kind=kind, day=day)
    return planned + (grants.aggregate(extra=Sum("slots"))["extra"] or 0)


def balance_of(account: Account, kind: str, day: date) -> Balance:
    """Three queries whatever the history; none of them writes."""
    allowed = allowance_of(account, kind, day)
    if not account.pk:
        return Balance(allowed=allowed, used=0, on_hold=0, tries=0, day=day)
    counts = Attempt.objects.of_day(account, kind, day).aggregate(
        used=Count("pk", filter=Q(state=AttemptState.SUCCESS)),
        on_hold=Count("pk", filter=Q(state=AttemptState.PENDING)),
        tries=Count("pk", filter=Q(cost_nothing=False)),
    )
    return Balance(allowed=allowed, day=day, **counts)


def reserve(*, account: Account, kind: str, now: datetime) -> Attempt | Refused:
    """Take the lowest free seat of the UTC day, or say why not. The account must have a row."""
    day = utc_day(now)
    for _ in range(ROUNDS):
        row = _insert_lowest_free_seat(account, kind, day, now)
        if row:
            return Attempt.objects.get(pk=row[0])
        balance = balance_of(account, kind, day)
        if balance.tries >= balance.most_tries:
            return Refused("too_many_tries", balance)
        if balance.left == 0:
            return Refused("full", balance)
    return Refused("full", balance)


def settle(
    *, attempt_id: int, state: AttemptState, now: datetime, cost_nothing: bool = False
) -> bool:
    """Close a pending attempt; False when it had ended before, which changes nothing."""
    if state not in ENDS:
        raise ValueError(f"an attempt is settled as success or failed, not {state}")
    pending = Attempt.objects.filter(pk=attempt_id, state=AttemptState.PENDING)
    ended = pending.update(
        state=state,
        settled_at=now,
        cost_nothing=cost_nothing and state == AttemptState.FAILED,
    )
    return ended == 1


# `NOT (state = 'failed')` is spelled as Django renders the index's condition: otherwise SQLite
# does not use the index, and a reservation costs 40 times as much at 1,000 seats.
RESERVE_SQL = """
INSERT INTO quotas_attempt
       (account_id, kind, day, slot, allowed, state, cost_nothing, reserved_at)
SELECT %(account)s, %(kind)s, %(day)s, free.slot, allowance.slots, 'pending', {false}, %(now)s
  FROM (SELECT COALESCE((SELECT planned.slots FROM quotas_allowance planned
                          WHERE planned.plan_id = spender.plan_id AND planned.kind = %(kind)s), 0)
             + COALESCE((SELECT SUM(extra.slots) FROM quotas_grant extra
                          WHERE extra.account_id = spender.id AND extra.kind = %(kind)s
                            AND extra.day = %(day)s), 0) AS slots
          FROM quotas_account spender WHERE spender.id = %(account)s) allowance,
       (SELECT MIN(candidate.slot) AS slot FROM (
            SELECT 1 AS slot WHERE NOT EXISTS (
                SELECT 1 FROM quotas_attempt one
                 WHERE one.account_id = %(account)s AND one.kind = %(kind)s AND one.day = %(day)s
                   AND one.slot = 1 AND NOT (one.state = 'failed'))
            UNION ALL
            SELECT held.slot + 1 FROM quotas_attempt held
             WHERE held.account_id = %(account)s AND held.kind = %(kind)s AND held.day = %(day)s
               AND NOT (held.state = 'failed') AND NOT EXISTS (
                SELECT 1 FROM quotas_attempt after
                 WHERE after.account_id = %(account)s AND after.kind = %(kind)s
                   AND after.day = %(day)s AND after.slot = held.slot + 1
                   AND NOT (after.state = 'failed'))
       ) candidate) free
 WHERE free.slot <= allowance.slots
   AND (SELECT COUNT(*) FROM quotas_attempt seat
         WHERE seat.account_id = %(account)s AND seat.kind = %(kind)s AND seat.day = %(day)s
           AND NOT (seat.state = 'failed')) < allowance.slots
   AND (SELECT COUNT(*) FROM quotas_attempt tried
         WHERE tried.account_id = %(account)s AND tried.kind = %(kind)s AND tried.day = %(day)s
           AND NOT tried.cost_nothing) < 3 * allowance.slots + 5
ON CONFLICT (account_id, kind, day, slot) WHERE NOT (state = 'failed') DO NOTHING
RETURNING id
"""


def _insert_lowest_free_seat(
    account: Account, kind: str, day: date, now: datetime
) -> tuple[int] | None:
    with connection.cursor() as cursor:
        cursor.execute(RESERVE_SQL.format(**_literals()), _parameters(account, kind, day, now))
        return cursor.fetchone()


def _literals() -> dict[str, str]:
    return {"false": "FALSE" if connection.vendor == "postgresql" else "0"}


def _parameters(account: Account, kind: str, day: date, now: datetime) -> dict[str, object]:
    return {
        "account": account.pk,
        "kind": kind,
        "day": connection.ops.adapt_datefield_value(day),
        "now": connection.ops.adapt_datetimefield_value(now),
    }
