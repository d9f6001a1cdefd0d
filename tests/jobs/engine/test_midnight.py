"""Over midnight UTC: yesterday's work goes on, and holds nothing of today."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.utils import timezone

from jobs.core.models import Job
from jobs.engine import incoming
from jobs.pictures.orders import PictureOrder, order_picture
from providers.calls.models import Call
from quotas import ledger
from quotas.models import Account, Attempt, Kind, Plan
from tests import working
from tests.fakes import OFFER, made

pytestmark = pytest.mark.django_db

BEFORE = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def accounts(fake, enqueued):
    """Two people with fifty pictures a day each."""
    plan = Plan.objects.get(name="paid")
    return [Account.objects.create(name=name, plan=plan, created_at=BEFORE) for name in "ab"]


def place(account: Account, number: int) -> Job:
    order = PictureOrder(prompt=f"fox {number}", aspect_ratio="1:1", offer=OFFER)
    job = order_picture(account=account, order=order, form_key=f"{number}", now=timezone.now())
    assert isinstance(job, Job)
    return job


def left(account: Account) -> int:
    return ledger.read_balance(account, Kind.IMAGE, ledger.utc_day(timezone.now())).left


def test_a_hundred_pictures_on_their_way_hold_nothing_of_the_new_day(accounts):
    with time_machine.travel(BEFORE, tick=False) as clock:
        jobs = [place(account, number) for account in accounts for number in range(50)]
        for job in jobs:
            working.advance(job.pk)
        assert [left(account) for account in accounts] == [0, 0]
        clock.move_to(MIDNIGHT)
        assert [left(account) for account in accounts] == [50, 50]
        assert all(isinstance(place(account, 50), Job) for account in accounts)
        clock.move_to(MIDNIGHT + timedelta(minutes=5))
        for job in jobs:
            incoming.apply(Call.objects.of_work(f"image:{job.pk}").get(), made(), timezone.now())
            working.advance(job.pk)
        assert [left(account) for account in accounts] == [49, 49]
    delivered = Job.objects.filter(pk__in=[job.pk for job in jobs], state="ready")
    assert delivered.filter(pictures__isnull=False).count() == 100
    yesterday = Attempt.objects.filter(day=BEFORE.date())
    assert set(yesterday.values_list("state", flat=True)) == {"success"}
    assert yesterday.count() == 100
