"""What is left, computed from rows by one query and written nowhere."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.accounts import account_of_visitor
from quotas.balances import read_balances
from quotas.ledger import Balance, read_balance
from quotas.models import Account, Allowance, Grant
from quotas.states import AttemptState

PENDING, SUCCESS, FAILED = AttemptState.PENDING, AttemptState.SUCCESS, AttemptState.FAILED
COUNT = st.integers(0, 1000)


@given(allowed=COUNT, used=COUNT, on_hold=COUNT)
def test_left_is_the_rest_and_never_below_zero(allowed, used, on_hold):
    balance = Balance("image", allowed, used, on_hold, tries=0, day=date(2026, 3, 14))
    assert balance.left >= 0
    assert balance.left == allowed - used - on_hold or used + on_hold > allowed


def test_day_renews_at_the_next_utc_midnight():
    balance = Balance(kind="image", allowed=1, used=0, on_hold=0, tries=0, day=date(2026, 12, 31))
    assert balance.renews_at == datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture
def mixed_day(write_attempts, account, day, now):
    """Two used, three on hold, four given back, one of them for nothing; two slots granted."""
    write_attempts(2, SUCCESS)
    for slot in (3, 4, 5):
        write_attempts(1, PENDING, slot=slot)
    write_attempts(3, FAILED)
    write_attempts(1, FAILED, cost_nothing=True)
    Grant.objects.create(account=account, kind="image", day=day, slots=2, granted_at=now)


@pytest.mark.usefixtures("mixed_day")
def test_balance_counts_each_state_once(account, day):
    balance = read_balance(account, "image", day)
    assert balance == Balance(kind="image", allowed=12, used=2, on_hold=3, tries=8, day=day)
    assert (balance.left, balance.most_tries) == (7, 41)


@pytest.mark.usefixtures("mixed_day")
def test_other_days_and_kinds_are_untouched(account, day):
    other = read_balance(account, "image", day - timedelta(days=1))
    assert (other.allowed, other.left, other.tries) == (10, 10, 0)
    assert read_balance(account, "contract", day).left == 3


@pytest.mark.usefixtures("mixed_day")
def test_lowered_plan_leaves_nothing_and_never_less(account, day):
    Allowance.objects.filter(plan=account.plan).update(slots=1)
    assert read_balance(account, "image", day).left == 0


@pytest.mark.usefixtures("mixed_day")
def test_balance_is_one_query(account, day, django_assert_num_queries):
    with django_assert_num_queries(1):
        read_balance(account, "image", day)


def test_account_without_a_row_has_its_whole_plan(db, day, django_assert_num_queries):
    newcomer = account_of_visitor("never seen")
    with django_assert_num_queries(1):
        assert read_balance(newcomer, "image", day).left == 3


@pytest.mark.usefixtures("mixed_day")
def test_balances_of_many_agree_with_the_balance_of_each(account, visitor, day):
    found = read_balances([account, visitor], day)
    assert found == {
        (each.pk, kind): read_balance(each, kind, day)
        for each in (account, visitor)
        for kind in ("image", "contract")
    }


def test_balances_of_many_cost_four_queries(visitor, now, day, django_assert_num_queries):
    Account.objects.bulk_create(
        Account(visitor=f"v{number}", plan=visitor.plan, created_at=now) for number in range(30)
    )
    accounts = list(Account.objects.all())
    with django_assert_num_queries(4):
        read_balances(accounts, day)
