"""Who spends: found without a write, written once with the first reservation."""

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from quotas.accounts import account_named, account_of_user, account_of_visitor, ensure_saved
from quotas.models import Account


@pytest.fixture
def written(ana):
    """The statements that were no SELECT."""
    with CaptureQueriesContext(connection) as queries:
        yield lambda: [q["sql"] for q in queries if not q["sql"].lstrip().startswith("SELECT")]


def test_looking_an_account_up_writes_nothing(ana, written):
    assert account_of_user(ana).pk is None
    assert account_of_visitor("never seen").pk is None
    assert account_named("a new name").pk is None
    assert written() == []
    assert not Account.objects.exists()


def test_user_starts_on_the_free_plan(ana):
    assert account_of_user(ana).plan.name == "free"


def test_staff_starts_on_the_operator_plan(staff):
    assert account_of_user(staff).plan.name == "operator"


def test_visitor_starts_on_the_visitor_plan(db):
    assert account_of_visitor("v").plan.name == "visitor"


def test_operator_of_the_command_line_has_the_operator_plan(db):
    assert account_named("operator").plan.name == "operator"


def test_other_names_of_the_command_line_are_free(db):
    assert account_named("robot").plan.name == "free"


def test_name_of_a_user_is_the_users_account(account, ana):
    assert account_named("ana") == account


def test_name_of_a_user_without_a_row_becomes_the_users_account(ana, now):
    saved = ensure_saved(account_named("ana"), now=now)
    assert (saved.user, saved.name) == (ana, None)
    assert account_of_user(ana) == saved


@pytest.mark.parametrize("found", ["user", "visitor", "name"])
def test_account_is_saved_once(ana, now, found):
    look_up = {
        "user": lambda: account_of_user(ana),
        "visitor": lambda: account_of_visitor("v"),
        "name": lambda: account_named("robot"),
    }[found]
    # Two requests have both found no row before either writes it.
    first, second = look_up(), look_up()
    assert ensure_saved(first, now=now) == ensure_saved(second, now=now)
    assert look_up() == Account.objects.get()


def test_saved_account_is_given_back_without_a_query(account, now, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert ensure_saved(account, now=now) is account


def test_plan_of_the_first_row_stays(account, ana, now):
    late = Account(user=ana, plan=account_of_visitor("v").plan)
    assert ensure_saved(late, now=now).plan.name == "free"


def test_account_outlives_its_user(account, ana):
    get_user_model().objects.filter(pk=ana.pk).delete()
    account.refresh_from_db()
    assert account.user is None


@pytest.mark.parametrize(
    ("identity", "said"),
    [({"name": "robot"}, "robot"), ({"visitor": "abcdefghijkl"}, "visitor abcdefgh")],
)
def test_account_says_who_it_is(identity, said):
    assert str(Account(**identity)) == said
