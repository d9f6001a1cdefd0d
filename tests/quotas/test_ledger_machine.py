"""The ledger of attempts against a plain model of it, by whatever sequence of steps is thought of.

Several accounts reserve, settle, are granted slots, change plans and sign in, over some days. After
each step the rows are those of the model: nothing oversold, nothing undersold (a refusal only where
the model is full, over its tries or closed), nothing settled twice, no ended state changed.
"""

from collections import Counter
from dataclasses import astuple
from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from quotas import account_merge, accounts, ledger
from quotas.models import Account, Allowance, Attempt, Grant, Plan
from quotas.states import AttemptState
from tests.quotas.plain_ledger import Model, Row, Spender

KINDS = st.sampled_from(["image", "image", "image", "contract"])
ANY = st.integers(0, 99)
STATES = st.sampled_from(AttemptState)
PENDING, SUCCESS, FAILED = AttemptState.PENDING, AttemptState.SUCCESS, AttemptState.FAILED


class Ledger(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.all = transaction.atomic()
        self.all.__enter__()
        self.model, self.visitors = Model(), 0
        self.now = datetime(2026, 3, 14, 12, tzinfo=UTC)

    def teardown(self) -> None:
        """The next sequence begins with an empty ledger."""
        transaction.set_rollback(True)
        self.all.__exit__(None, None, None)

    @property
    def day(self) -> date:
        return ledger.utc_day(self.now)

    @initialize()
    def open(self) -> None:
        """Two plans, a user with an account, one without, two visitors."""
        names = (accounts.VISITOR, accounts.FREE)
        self.plans = [Plan.objects.get(name=name) for name in names]
        for number in range(len(self.plans)):
            for kind in ("image", "contract"):
                self.set_slots(number, kind, number + 2)
        self.users = [User.objects.create(username=name) for name in ("ana", "ben")]
        self.add(Account(user=self.users[0], plan=self.plans[1]))
        self.visit()
        self.visit()

    def add(self, account: Account) -> None:
        saved = accounts.ensure_saved(account, now=self.now)
        self.model.spenders.append(
            Spender(saved.pk, saved.plan_id, saved.visitor or "", saved.user_id)
        )

    def spender(self, pick: int) -> Spender:
        return self.model.spenders[pick % len(self.model.spenders)]

    @rule()
    @precondition(lambda self: len(self.model.spenders) < 6)
    def visit(self) -> None:
        self.visitors += 1
        self.add(accounts.account_of_visitor(f"visitor {self.visitors}"))

    @rule(often=st.integers(0, 2))
    def let_the_day_end(self, often: int) -> None:
        """Seldom, or no day would fill."""
        self.now += timedelta(days=often == 0)

    @rule(pick=ANY, kind=KINDS, state=STATES)
    def reserve(self, pick: int, kind: str, state: AttemptState) -> None:
        pk = self.take(self.spender(pick), kind)
        if pk and state != PENDING:
            self.end(pk, state, cost_nothing=False)

    @rule(pick=ANY, kind=KINDS)
    def fill(self, pick: int, kind: str) -> None:
        while self.take(self.spender(pick), kind):
            pass

    def take(self, spender: Spender, kind: str) -> int | None:
        expected = self.model.refusal(spender, kind, self.day)
        account = Account.objects.get(pk=spender.pk)
        got = ledger.reserve(account=account, kind=kind, now=self.now)
        if isinstance(got, ledger.Refused):
            assert got.why == expected
            return None
        assert expected == ""
        assert got.slot == self.model.lowest_free(spender, kind, self.day)
        assert got.allowed == self.model.allowed(spender, kind, self.day)
        self.model.rows[got.pk] = Row(spender.pk, kind, self.day, got.slot)
        return got.pk

    @rule(pick=ANY, kind=KINDS)
    def fail_until_refused(self, pick: int, kind: str) -> None:
        """Of money that may have been spent: the bound on tries ends it."""
        while pk := self.take(self.spender(pick), kind):
            self.end(pk, FAILED, cost_nothing=False)

    @rule(pick=ANY, kind=KINDS, less=st.integers(1, 2))
    def lower_below_what_is_held(self, pick: int, kind: str, less: int) -> None:
        """And free the lowest seat: that gives none while enough others are held. Then back."""
        spender = self.spender(pick)
        self.fill(pick, kind)
        number = [plan.pk for plan in self.plans].index(spender.plan)
        before = self.model.slots[spender.plan, kind]
        self.set_slots(number, kind, max(0, before - less))
        key = (spender.pk, kind, self.day, PENDING)
        rows = self.model.rows
        mine = [pk for pk in rows if (*astuple(rows[pk])[:3], rows[pk].state) == key]
        if mine:
            self.end(min(mine, key=lambda pk: rows[pk].slot), FAILED, cost_nothing=True)
        self.take(spender, kind)
        self.set_slots(number, kind, before)

    @rule(pick=ANY, state=st.sampled_from([SUCCESS, FAILED]), cost_nothing=st.booleans())
    @precondition(lambda self: self.model.rows)
    def settle(self, pick: int, state: AttemptState, cost_nothing: bool) -> None:
        """Any attempt, however long ago it ended."""
        self.end(sorted(self.model.rows)[pick % len(self.model.rows)], state, cost_nothing)

    def end(self, pk: int, state: AttemptState, cost_nothing: bool) -> None:
        row = self.model.rows[pk]
        ended = ledger.settle(attempt_id=pk, state=state, now=self.now, cost_nothing=cost_nothing)
        assert ended == (row.state == PENDING)
        if ended:
            row.state, row.cost_nothing = state, cost_nothing and state == FAILED

    @rule(number=st.integers(0, 1), kind=KINDS, slots=st.integers(0, 6))
    def set_slots(self, number: int, kind: str, slots: int) -> None:
        Allowance.objects.filter(plan=self.plans[number], kind=kind).update(slots=slots)
        self.model.slots[self.plans[number].pk, kind] = slots

    @rule(pick=ANY, number=st.integers(0, 1))
    def change_plan(self, pick: int, number: int) -> None:
        spender = self.spender(pick)
        spender.plan = self.plans[number].pk
        Account.objects.filter(pk=spender.pk).update(plan=spender.plan)

    @rule(pick=ANY, kind=KINDS, slots=st.integers(1, 2), in_days=st.integers(0, 1))
    def grant(self, pick: int, kind: str, slots: int, in_days: int) -> None:
        pk, day = self.spender(pick).pk, self.day + timedelta(days=in_days)
        given = Grant.objects.create(
            account_id=pk, kind=kind, day=day, slots=slots, granted_at=self.now
        )
        self.model.grants[given.pk] = (pk, kind, day, slots)

    @rule(pick=ANY)
    @precondition(lambda self: self.model.grants)
    def revoke(self, pick: int) -> None:
        pk = sorted(self.model.grants)[pick % len(self.model.grants)]
        Grant.objects.get(pk=pk).delete()
        del self.model.grants[pk]

    @rule(
        states=st.lists(STATES, min_size=1, max_size=3),
        number=st.integers(0, 1),
        is_late=st.booleans(),
    )
    def come_and_sign_in(self, states: list[AttemptState], number: int, is_late: bool) -> None:
        """Perhaps after midnight: what is of yesterday stays."""
        self.visit()
        visitor = self.model.spenders[-1]
        for state in states:
            pk = self.take(visitor, "image")
            if pk and state != PENDING:
                self.end(pk, state, cost_nothing=False)
        self.now += timedelta(days=is_late)
        self.bring_along(visitor, self.users[number])

    @rule(pick=ANY, number=st.integers(0, 1))
    def sign_in(self, pick: int, number: int) -> None:
        """By any visitor, also one whose id is spent: nothing of another's comes along then."""
        visitors = [spender for spender in self.model.spenders if spender.visitor]
        if visitors:
            self.bring_along(visitors[pick % len(visitors)], self.users[number])

    def bring_along(self, visitor: Spender, user: User) -> None:
        account = account_merge.merge_visitor_into_user(
            visitor=visitor.visitor, user=user, now=self.now
        )
        into = self.follow_sign_in(visitor, account)
        for attempt in Attempt.objects.filter(account__moved_to=account).order_by("pk"):
            moved = ledger.move(attempt_id=attempt.pk, to=account, now=self.now)
            assert moved == self.follow_move(self.model.rows[attempt.pk], into)

    def follow_sign_in(self, visitor: Spender, account: Account) -> Spender:
        known = [spender for spender in self.model.spenders if spender.user == account.user_id]
        if known:
            assert account.pk == known[0].pk
            visitor.closed = True
            return known[0]
        if visitor.closed:
            self.model.spenders.append(Spender(account.pk, account.plan_id, "", account.user_id))
            return self.model.spenders[-1]
        assert account.pk == visitor.pk
        # The account is the user's from now on; the visitor's id is left with a closed one.
        spent = Account.objects.get(visitor=visitor.visitor)
        self.model.spenders.append(Spender(spent.pk, spent.plan_id, visitor.visitor, closed=True))
        visitor.plan = self.plans[1].pk
        visitor.visitor, visitor.user = "", account.user_id
        return visitor

    def follow_move(self, row: Row, into: Spender) -> bool:
        if row.day != self.day:
            return False
        if row.state != FAILED:
            slot = self.model.lowest_free(into, row.kind, row.day)
            if not slot:
                return False
            row.slot = slot
        row.account = into.pk
        return True

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        columns = ("account_id", "kind", "day", "slot", "state", "cost_nothing")
        found = {row[0]: Row(*row[1:]) for row in Attempt.objects.values_list("pk", *columns)}
        assert found == self.model.rows

    @invariant()
    def no_seat_is_held_twice(self) -> None:
        held = [row for row in self.model.rows.values() if row.state != FAILED]
        seats = Counter((row.account, row.kind, row.day, row.slot) for row in held)
        assert set(seats.values()) <= {1}

    @invariant()
    def balances_are_those_of_the_model(self) -> None:
        for spender in self.model.spenders:
            account = Account(pk=spender.pk, plan_id=spender.plan)
            for kind in ("image", "contract"):
                balance = ledger.read_balance(account, kind, self.day)
                held = len(self.model.taken(spender, kind, self.day))
                allowed = self.model.allowed(spender, kind, self.day)
                assert balance.used + balance.on_hold == held
                assert balance.left == max(0, allowed - held)


@pytest.mark.django_db
def test_ledger_is_as_the_model_whatever_is_done():
    run_state_machine_as_test(Ledger, settings=settings(max_examples=40, stateful_step_count=40))
