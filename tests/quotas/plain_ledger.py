"""The rules of the ledger in plain Python, without a database: what the machine compares with."""

from dataclasses import dataclass, field
from datetime import date

from quotas.states import AttemptState

PENDING, FAILED = AttemptState.PENDING, AttemptState.FAILED


@dataclass
class Spender:
    """An account as the model has it."""

    pk: int
    plan: int
    visitor: str = ""
    user: int | None = None
    closed: bool = False


@dataclass
class Row:
    account: int
    kind: str
    day: date
    slot: int
    state: str = PENDING
    cost_nothing: bool = False


@dataclass
class Model:
    slots: dict[tuple[int, str], int] = field(default_factory=dict)
    spenders: list[Spender] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)
    grants: dict[int, tuple[int, str, date, int]] = field(default_factory=dict)

    def allowed(self, spender: Spender, kind: str, day: date) -> int:
        given = [g[3] for g in self.grants.values() if g[:3] == (spender.pk, kind, day)]
        return self.slots[spender.plan, kind] + sum(given)

    def of_day(self, spender: Spender, kind: str, day: date) -> list[Row]:
        key = (spender.pk, kind, day)
        return [row for row in self.rows.values() if (row.account, row.kind, row.day) == key]

    def taken(self, spender: Spender, kind: str, day: date) -> set[int]:
        return {row.slot for row in self.of_day(spender, kind, day) if row.state != FAILED}

    def lowest_free(self, spender: Spender, kind: str, day: date) -> int:
        """0 where as many are held as are allowed."""
        taken = self.taken(spender, kind, day)
        if len(taken) >= self.allowed(spender, kind, day):
            return 0
        return next(slot for slot in range(1, 10_000) if slot not in taken)

    def refusal(self, spender: Spender, kind: str, day: date) -> str:
        """The empty string where a seat is to be had."""
        tries = [row for row in self.of_day(spender, kind, day) if not row.cost_nothing]
        if spender.closed:
            return "closed"
        if not self.lowest_free(spender, kind, day):
            return "full"
        most = 3 * self.allowed(spender, kind, day) + 5
        return "too_many_tries" if len(tries) >= most else ""
