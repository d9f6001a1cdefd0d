"""A sign-in ends the streams of the visitor before it, and a plan follows its user's role."""

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from jobs.live.viewers import Subscription, Viewers
from jobs.people.session_cache import SessionStamp
from jobs.people.sign_in import bring_along
from jobs.people.snapshots import millis
from quotas.accounts import account_of_user
from quotas.models import Account, Plan

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "clock")]
SECOND = timedelta(seconds=1)


@pytest.fixture
def stream(visitor, now) -> Subscription:
    return Subscription(uuid.uuid4(), visitor.pk, SessionStamp("", millis(now), visitor.visitor))


@pytest.fixture
def viewers(stream) -> Viewers:
    viewers = Viewers()
    viewers.enter(stream)
    return viewers


@pytest.mark.parametrize("has_account", [True, False], ids=["closed", "taken over"])
def test_a_visitors_stream_ends_when_they_sign_in(viewers, stream, visitor, ana, now, has_account):
    if has_account:
        account = account_of_user(ana)
        account.created_at = now
        account.save()
    assert viewers.those_out(now + 2 * SECOND) == []
    bring_along(visitor=visitor.visitor, user=ana, now=now)
    assert viewers.those_out(now + 4 * SECOND) == [stream]


def test_a_visitors_stream_goes_on_while_nothing_happens(viewers, now):
    for seconds in range(2, 600, 60):
        assert viewers.those_out(now + seconds * SECOND) == []


@pytest.mark.parametrize(
    ("was_staff", "is_staff", "plan", "becomes"),
    [
        (True, False, "operator", "free"),
        (False, True, "free", "operator"),
        (True, False, "paid", "paid"),
        (False, True, "paid", "paid"),
        (True, True, "operator", "operator"),
    ],
)
def test_the_plan_follows_the_role(account, was_staff, is_staff, plan, becomes):
    User.objects.update(is_staff=was_staff)
    Account.objects.update(plan=Plan.objects.get(name=plan))
    user = User.objects.get()
    user.is_staff = is_staff
    user.save()
    assert Account.objects.get().plan.name == becomes


def test_a_role_that_was_changed_past_the_models_is_followed_at_the_next_sign_in(account, now):
    Account.objects.update(plan=Plan.objects.get(name="operator"))
    User.objects.update(is_staff=False)
    bring_along(visitor="somebody", user=User.objects.get(), now=now)
    assert account_of_user(account.user).plan.name == "free"
