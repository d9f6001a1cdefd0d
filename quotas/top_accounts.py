"""Who took most of a day, and how many have taken all they may."""

from dataclasses import dataclass
from datetime import date

from django.db import connection

from quotas.models import Kind

MOST = 10


@dataclass(frozen=True)
class Spender:
    """An account's slots of one kind: `used` and `on_hold` of what is allowed now."""

    account_id: int
    kind: str
    used: int
    on_hold: int
    allowed: int

    @property
    def kind_in_words(self) -> str:
        """Of a kind that this version does not know its bare name."""
        return str(dict(Kind.choices).get(self.kind, self.kind))

    @property
    def is_at_limit(self) -> bool:
        return self.used + self.on_hold >= self.allowed


@dataclass(frozen=True)
class Spending:
    top: tuple[Spender, ...]
    spenders: int = 0
    """All accounts that hold a slot of the day."""

    at_limit: int = 0
    """Those of them that hold all they may, of one kind at least."""


# The allowance is that of this moment: a plan that was raised since lets its account go on. Joined
# rather than asked for row by row, which PostgreSQL takes for so dear that it compiles the query.
# The cross join has SQLite look up the grants of those who hold slots, not the other way round.
SPENDING_SQL = """
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


def spending_of(day: date) -> Spending:
    with connection.cursor() as cursor:
        facts = {"day": connection.ops.adapt_datefield_value(day), "most": MOST}
        cursor.execute(SPENDING_SQL, facts)
        rows = cursor.fetchall()
    if not rows:
        return Spending(())
    top = tuple(
        Spender(account_id, kind, int(slots - on_hold), int(on_hold), int(allowed))
        for account_id, kind, slots, on_hold, allowed, _, _ in rows
    )
    return Spending(top, spenders=int(rows[0][5]), at_limit=int(rows[0][6]))
