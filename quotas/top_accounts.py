"""The accounts that used the most slots on one day, and how many reached their limit."""

from dataclasses import dataclass
from datetime import date

from django.db import connection

from quotas.models import Kind

MOST = 10


@dataclass(frozen=True)
class TopAccount:
    """An account's slots of one kind: `used` and `on_hold`, out of what is allowed now."""

    account_id: int
    kind: str
    used: int
    on_hold: int
    allowed: int

    @property
    def kind_in_words(self) -> str:
        """The bare name of a kind that this version does not know."""
        return str(dict(Kind.choices).get(self.kind, self.kind))

    @property
    def is_at_limit(self) -> bool:
        return self.used + self.on_hold >= self.allowed


@dataclass(frozen=True)
class DayUsage:
    top: tuple[TopAccount, ...]
    spenders: int = 0
    """All accounts that hold a slot of the day."""

    at_limit: int = 0
    """Those of them that reached the limit of at least one kind."""


# The current allowance: an account that has moved to a larger plan is not at its limit.
# Joins, because PostgreSQL rates a subquery per row as so expensive that it compiles the query.
# The cross join makes SQLite look up grants by the accounts that hold slots, not the reverse.
USAGE_SQL = """
WITH held AS (
    SELECT seat.account_id, seat.kind, COUNT(*) AS slots,
           COUNT(CASE WHEN seat.state = 'pending' THEN 1 END) AS on_hold
      FROM quotas_attempt seat
     WHERE seat.state IN ('pending', 'success') AND seat.day = %(day)s
     GROUP BY seat.account_id, seat.kind
), granted AS (
    SELECT extra.account_id, extra.kind, SUM(extra.slots) AS slots
      FROM held CROSS JOIN quotas_grant extra
     WHERE extra.account_id = held.account_id AND extra.kind = held.kind AND extra.day = %(day)s
     GROUP BY extra.account_id, extra.kind
), measured AS (
    SELECT held.*, COALESCE(planned.slots, 0) + COALESCE(granted.slots, 0) AS allowed
      FROM held JOIN quotas_account spender ON spender.id = held.account_id
      LEFT JOIN quotas_allowance planned
        ON planned.plan_id = spender.plan_id AND planned.kind = held.kind
      LEFT JOIN granted
        ON granted.account_id = held.account_id AND granted.kind = held.kind
)
SELECT account_id, kind, slots, on_hold, allowed,
       (SELECT COUNT(DISTINCT account_id) FROM measured) AS spenders,
       (SELECT COUNT(DISTINCT account_id) FROM measured WHERE slots >= allowed) AS at_limit
  FROM measured ORDER BY slots DESC, account_id, kind LIMIT %(most)s
"""


def read_day_usage(day: date) -> DayUsage:
    with connection.cursor() as cursor:
        facts = {"day": connection.ops.adapt_datefield_value(day), "most": MOST}
        cursor.execute(USAGE_SQL, facts)
        rows = cursor.fetchall()
    if not rows:
        return DayUsage(())
    top = tuple(
        TopAccount(account_id, kind, int(slots - on_hold), int(on_hold), int(allowed))
        for account_id, kind, slots, on_hold, allowed, _, _ in rows
    )
    return DayUsage(top, spenders=int(rows[0][5]), at_limit=int(rows[0][6]))
