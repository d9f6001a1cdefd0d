"""Signing in: what it brings along."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.core.models import Job
from jobs.ops import audit
from jobs.people import sign_in as jobs_sign_in
from jobs.people.sign_in import bring_along
from jobs.pictures.orders import PictureOrder, order_picture
from quotas.accounts import account_of_user, account_of_visitor
from quotas.ledger import Refused, read_balance
from quotas.models import Account, Attempt, Plan
from tests import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued")]

ID = "visitor-of-the-tests"


@pytest.fixture
def sign_in(ana, now):
    def sign_in(user=ana, at=now) -> Account:
        return bring_along(visitor=ID, user=user, now=at)

    return sign_in


@pytest.fixture
def todays(day):
    """Used, on hold and left of the account's pictures today."""

    def todays(account: Account) -> tuple[int, int, int]:
        balance = read_balance(account, "image", day)
        return balance.used, balance.on_hold, balance.left

    return todays


@pytest.fixture
def day(now):
    return now.date()


def slots_of(account: Account) -> list[int]:
    held = Attempt.objects.exclude(state="failed").filter(account=account)
    return sorted(held.values_list("slot", flat=True))


def fill(account: Account, now, count: int) -> list[Job]:
    """The first ordered is the first to be moved."""
    return [rows.generating(account, now + number * rows.SECOND) for number in range(count)]


class TestFirstTime:
    """The user has no account: the visitor's becomes theirs."""

    def test_nothing_moves_and_the_days_use_stays(self, visitor, sign_in, now, todays, ana):
        ready, waiting = rows.ready(visitor, now), rows.generating(visitor, now)
        account = sign_in()
        assert (account.pk, account.user, account.plan.name) == (visitor.pk, ana, "free")
        assert todays(account) == (1, 1, 8)
        assert set(account.jobs.all()) == {ready, waiting}

    def test_staff_get_the_operators_plan(self, visitor, sign_in, staff):
        assert sign_in(staff).plan.name == "operator"

    def test_a_plan_that_staff_chose_stays(self, visitor, sign_in):
        Account.objects.update(plan=Plan.objects.get(name="paid"))
        assert sign_in().plan.name == "paid"

    def test_the_visitors_id_is_spent(self, visitor, sign_in):
        account = sign_in()
        spent = account_of_visitor(ID)
        assert (spent.moved_to, spent.closed_at is None) == (account, False)

    def test_again_changes_nothing(self, visitor, sign_in, now):
        rows.ready(visitor, now)
        first, before = sign_in(), list(Account.objects.order_by("pk").values())
        assert sign_in() == first
        assert list(Account.objects.order_by("pk").values()) == before


class TestReturning:
    """The user has an account: the visitor's is closed for it."""

    def test_held_slots_of_today_take_the_lowest_free_seats(self, account, visitor, sign_in, now):
        mine = fill(account, now, 3)
        rows.news(mine[1], rows.Failed(rows.Cause("provider"), None), now)
        rows.ready(visitor, now)
        fill(visitor, now, 1)
        sign_in()
        assert slots_of(account) == [1, 2, 3, 4]
        assert slots_of(visitor) == []
        assert {attempt.allowed for attempt in account.attempts.all()} == {10}

    def test_used_and_on_hold_stay_what_they_are(self, account, visitor, sign_in, now, todays):
        rows.ready(visitor, now)
        fill(visitor, now, 2)
        sign_in()
        assert todays(account) == (1, 2, 7)

    def test_what_does_not_fit_stays_with_the_closed_account(
        self, account, visitor, sign_in, now, todays
    ):
        fill(account, now, 9)
        jobs = fill(visitor, now, 3)
        sign_in()
        assert slots_of(account) == list(range(1, 11))
        assert (slots_of(visitor), todays(account)) == ([2, 3], (0, 10, 0))
        assert set(account.jobs.all()) >= set(jobs)

    def test_what_stayed_takes_no_seat_that_comes_free_later(self, account, visitor, sign_in, now):
        full = fill(account, now, 10)
        fill(visitor, now, 1)
        sign_in()
        rows.news(full[0], rows.Failed(rows.Cause("provider"), None), now)
        sign_in()
        assert slots_of(account) == list(range(2, 11))

    def test_failed_tries_of_today_go_on_counting(self, account, visitor, sign_in, now, day):
        rows.failed_billed(visitor, now)
        rows.failed(visitor, now)
        sign_in()
        balance = read_balance(account, "image", day)
        assert (balance.tries, balance.left) == (1, 10)

    def test_no_state_changes(self, account, visitor, sign_in, now):
        for way in (rows.ready, rows.failed_billed, rows.not_confirmed):
            way(visitor, now)
        before = list(Attempt.objects.order_by("pk").values_list("state", "settled_at"))
        sign_in()
        assert list(Attempt.objects.order_by("pk").values_list("state", "settled_at")) == before

    def test_attempts_of_days_that_are_over_stay(self, account, visitor, sign_in, now):
        yesterday = rows.ready(visitor, now - timedelta(days=1))
        sign_in()
        yesterday.refresh_from_db()
        assert (yesterday.account, yesterday.attempt.account) == (account, visitor)

    def test_pictures_come_along(self, account, visitor, sign_in, now):
        jobs = [rows.ready(visitor, now), rows.ready(visitor, now - timedelta(days=3))]
        sign_in()
        assert set(account.jobs.filter(pictures__isnull=False)) == set(jobs)

    def test_the_other_kind_has_seats_of_its_own(self, account, visitor, sign_in, now):
        fill(account, now, 2)
        job = fill(visitor, now, 1)[0]
        Attempt.objects.filter(pk=job.attempt_id).update(kind="contract")
        sign_in()
        job.attempt.refresh_from_db()
        assert (job.attempt.account, job.attempt.slot) == (account, 1)

    def test_a_moved_job_ends_as_any_other(self, account, visitor, sign_in, now, todays):
        job = rows.saving(visitor, now)
        sign_in()
        rows.delivered(job, now + 9 * rows.SECOND)
        assert todays(account) == (1, 0, 9)

    def test_again_changes_nothing(self, account, visitor, sign_in, now):
        rows.ready(visitor, now)
        sign_in()
        before = list(Attempt.objects.values()), list(Job.objects.values())
        sign_in(at=now + timedelta(minutes=1))
        assert (list(Attempt.objects.values()), list(Job.objects.values())) == before

    def test_nothing_is_reserved_on_the_closed_account(self, account, visitor, sign_in, now):
        sign_in()
        refused = order_picture(account=visitor, order=an_order(), form_key="k" * 20, now=now)
        assert isinstance(refused, Refused)
        assert (refused.why, Job.objects.count(), Attempt.objects.count()) == ("closed", 0, 0)

    def test_nor_by_a_visitor_who_had_no_row_when_the_form_came(self, account, sign_in, now):
        on_its_way = account_of_visitor(ID)
        sign_in()
        refused = order_picture(account=on_its_way, order=an_order(), form_key="k" * 20, now=now)
        assert isinstance(refused, Refused)
        assert refused.why == "closed"

    def test_another_user_brings_along_nothing_that_is_spent(self, account, visitor, sign_in, ben):
        rows.ready(visitor, timezone.now())
        sign_in()
        sign_in(ben)
        assert not account_of_user(ben).jobs.exists()
        assert account.jobs.count() == 1


def test_audit_finds_nothing_wrong_with_what_was_moved(account, visitor, sign_in, now):
    """Nor with what stayed: no seat was free for two, and one is of yesterday."""
    fill(account, now, 9)
    for way in (rows.failed_billed, rows.ready, rows.generating, rows.lost):
        way(visitor, now)
    rows.not_confirmed(visitor, now - timedelta(days=1))
    sign_in()
    assert visitor.attempts.count() == 3
    assert list(audit.violations(now + timedelta(hours=2))) == []


@pytest.fixture
def die_once(monkeypatch):
    """The process dies once, after so many jobs were moved."""
    move = jobs_sign_in._move_with_its_attempt
    calls = []

    def arrange(after: int) -> None:
        def dying(*arguments) -> None:
            calls.append(arguments)
            if len(calls) == after + 1:
                raise SystemExit
            move(*arguments)

        monkeypatch.setattr(jobs_sign_in, "_move_with_its_attempt", dying)

    return arrange


@pytest.mark.parametrize("after", [0, 1, 2])
def test_what_a_death_left_is_moved_by_the_next_sign_in(
    account, visitor, sign_in, die_once, now, todays, after
):
    """Whatever visitor the browser has become in between."""
    jobs = fill(visitor, now, 3)
    die_once(after)
    with pytest.raises(SystemExit):
        sign_in()
    assert account.jobs.count() == after
    bring_along(visitor="another", user=account.user, now=now)
    assert set(account.jobs.all()) == set(jobs)
    assert todays(account) == (0, 3, 7)


def test_a_form_that_made_a_job_on_either_side_stays_two_jobs(account, visitor, sign_in, now):
    """The visitor's can no longer be found by its form; sending that again finds the user's."""
    theirs = order_picture(account=visitor, order=an_order(), form_key="k" * 20, now=now)
    mine = order_picture(account=account, order=an_order(), form_key="k" * 20, now=now)
    sign_in()
    assert set(account.jobs.all()) == {theirs, mine}
    again = order_picture(account=account, order=an_order(), form_key="k" * 20, now=now)
    assert again == mine


def an_order() -> PictureOrder:
    return PictureOrder(prompt="a fox", aspect_ratio="1:1", offer=rows.OFFER)
