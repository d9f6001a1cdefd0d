"""News after the end of a call: delivered beside what others made, and nobody else is asked."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from jobs import outcomes
from jobs.engine import incoming
from jobs.ops import audit
from providers.calls.models import Call
from providers.outcomes import Accepted, Cause, Done, Failed, Unknown
from providers.routing import gates
from quotas.models import Alert, AlertKind
from tests import rows, working
from tests.fakes import SPARE, made
from tests.jobs.engine.test_fallback import DOWN, asked, ends, find_calls, polled, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def test_a_late_picture_stands_beside_that_of_the_fallback(order, fake, spare):
    """A contradiction: the first said that it had not executed, and did."""
    fake.submits = [DOWN]
    job = order()
    working.advance(job.pk)
    polled(job, made())
    incoming.apply(find_calls(job)[0], made(), timezone.now())
    working.advance(job.pk)
    assert ends(job) == ("ready", "", "success")
    shown = rows.again(job).pictures.order_by("position")
    assert [picture.call.provider for picture in shown] == ["spare", "fake"]
    assert Alert.objects.get(kind=AlertKind.CONTRADICTION).closed_at is None


def test_a_late_picture_is_delivered_while_the_fallback_still_runs(order, fake, spare):
    fake.submits = [DOWN]
    job = order()
    working.advance(job.pk)
    incoming.apply(find_calls(job)[0], made(), timezone.now())
    working.advance(job.pk)
    assert ends(job) == ("ready", "", "success")
    polled(job, made())
    assert rows.again(job).pictures.count() == 2


def test_a_late_picture_that_cannot_be_fetched_takes_nothing_from_the_fallback(order, fake, spare):
    fake.submits = [DOWN]
    job = order()
    working.advance(job.pk)
    unfetchable = Done((replace(made().artifacts[0], b64="bm8gcGljdHVyZQ=="),), Decimal("5.00"))
    incoming.apply(find_calls(job)[0], unfetchable, timezone.now())
    working.advance(job.pk)
    assert ends(job) == ("running", "", "pending")
    polled(job, made())
    assert ends(job) == ("ready", "", "success")


def test_a_fallback_that_fails_takes_nothing_from_a_late_picture(order, fake, spare):
    fake.submits = [DOWN]
    job = order()
    working.advance(job.pk)
    incoming.apply(find_calls(job)[0], made(), timezone.now())
    working.advance(job.pk)
    polled(job, Failed(Cause("provider"), Decimal(0)))
    assert ends(job) == ("ready", "", "success")
    assert asked(job) == ["fake rejected", "spare failed"]


@pytest.fixture
def waiting(order, fake, spare):
    """A job back in the queue, since whoever was asked is down and the other is paused."""
    fake.submits = [DOWN]
    gates.follow(
        Call(provider="spare", model=SPARE.model, state="rejected", why="rate", rule="too_many"),
        timezone.now(),
        retry_after=60,
    )
    job = order()
    working.advance(job.pk)
    assert ends(job) == ("queued", "", "pending")
    return job


def test_a_late_picture_ends_the_wait_for_another_provider(waiting, spare):
    incoming.apply(find_calls(waiting)[0], made(), timezone.now())
    assert ends(waiting) == ("running", "", "pending")
    assert list(audit.violations(timezone.now())) == []
    working.advance(waiting.pk)
    assert ends(waiting) == ("ready", "", "success")
    assert spare.sent == []


@pytest.mark.parametrize(
    "news", [Accepted("run-late"), Failed(Cause("provider"), None)], ids=["runs", "perhaps billed"]
)
def test_nobody_else_is_asked_once_the_refused_work_is_known_to_run(waiting, spare, clock, news):
    incoming.apply(find_calls(waiting)[0], news, timezone.now())
    assert ends(waiting) == ("failed", "provider", "failed")
    clock.shift(timedelta(seconds=61))
    working.advance(waiting.pk)
    assert spare.sent == []
    incoming.apply(find_calls(waiting)[0], made(), timezone.now())
    working.advance(waiting.pk)
    assert ends(waiting) == ("ready", "", "failed")
    assert list(audit.violations(timezone.now())) == []


def test_a_refused_work_that_failed_for_nothing_after_all_is_asked_of_another(
    waiting, spare, clock
):
    incoming.apply(find_calls(waiting)[0], Failed(Cause("provider"), Decimal(0)), timezone.now())
    clock.shift(timedelta(seconds=61))
    working.advance(waiting.pk)
    assert asked(waiting) == ["fake rejected", "spare accepted"]


def test_a_late_picture_reaches_whoever_had_cancelled_the_wait(waiting):
    assert outcomes.cancel(waiting.pk, timezone.now())
    incoming.apply(find_calls(waiting)[0], made(), timezone.now())
    working.advance(waiting.pk)
    assert ends(waiting) == ("ready", "", "failed")
    assert list(audit.violations(timezone.now())) == []


def test_a_late_picture_after_its_day_says_which_day_it_took(order, fake, clock):
    fake.submits = [Unknown(Cause("transport", rule="lost"))]
    job = order()
    working.advance(job.pk)
    clock.shift(timedelta(days=1))
    incoming.give_up(find_calls(job)[0], timezone.now())
    assert ends(job) == ("not_confirmed", "deadline", "pending")
    incoming.apply(find_calls(job)[0], made(), timezone.now())
    working.advance(job.pk)
    assert ends(job) == ("ready", "", "success")
    assert "It used a slot for" in said(job)
    assert not Alert.objects.exists()
