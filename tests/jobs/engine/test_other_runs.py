"""An answer about another run than was requested changes nothing, wherever it was requested, and
staff are told."""

from concurrent.futures import wait
from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs.alerts import watch
from jobs.core.models import Job, StaffAction
from providers.calls.models import Call
from providers.outcomes import Cause, Failed, Run, Unknown
from providers.webhooks import store as hooks
from providers.wire.verifiers import WebhookNotice
from quotas.models import Alert
from tests import working
from tests.fakes import ACCOUNT, OFFER, made
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "media")]

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def go_on(ticker, clock, settings):
    """A round of the ticker some time later, with all its polls answered."""

    def round_later(after=None):
        clock.shift(after or settings.POLL_EVERY * 1.2)
        ticker.tick()
        wait([*ticker.polls, *ticker.searches.running], timeout=60)
        ticker.collect()

    return round_later


@pytest.fixture
def running(clock, order):
    job = order()
    working.advance(job.pk)
    return job


@pytest.fixture
def lost(fake, clock, order, settings):
    """Without an id; its provider's list may be searched."""
    account = replace(ACCOUNT, key="the-key", key_exclusive=True)
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"fake": account}
    fake.submits = [Unknown(Cause("transport", rule="lost"))]
    job = order()
    working.advance(job.pk)
    return job


def told():
    """Other alerts, such as of a silent ticker, do not matter here."""
    alerts = Alert.objects.open().filter(kind="other_run")
    return list(alerts.values_list("kind", "subject"))


TOLD = [("other_run", "fake")]


@pytest.mark.parametrize("answer", [made(), Failed(Cause("provider"))], ids=["done", "failed"])
@pytest.mark.parametrize("named", ["run-2", ""])
def test_a_poll_changes_nothing(running, go_on, fake, answer, named):
    fake.polls["run-1"], fake.named["run-1"] = answer, named
    go_on()
    call = Call.objects.get()
    assert (call.state, call.last_answer) == (
        "accepted",
        "no answer: the answer names another run",
    )
    assert Job.objects.get(pk=running.pk).state == "running"
    assert told() == TOLD


def test_the_right_answer_is_still_waited_for(running, go_on, fake):
    fake.polls["run-1"], fake.named["run-1"] = made(), "run-2"
    go_on()
    fake.named.clear()
    go_on()
    working.advance(running.pk)
    assert Job.objects.get(pk=running.pk).state == "ready"


def test_a_webhook_s_id_is_not_taken(lost, go_on, fake):
    hooks.store(Call.objects.get(), WebhookNotice("gen_77"), b"{}", timezone.now())
    fake.polls["gen_77"], fake.named["gen_77"] = made(), "gen_78"
    go_on()
    call = Call.objects.get()
    assert (call.state, call.reference) == ("unknown", None)
    assert told() == TOLD


def test_check_now_changes_nothing(running, go_on, fake, staff_client):
    fake.polls["run-1"], fake.named["run-1"] = made(), "run-2"
    page = reverse("admin:check_now") + f"?call={Call.objects.get().pk}"
    staff_client.post(page, {"reason": "a person asks"})
    assert StaffAction.objects.exists()
    go_on(SECOND)
    assert (Call.objects.get().state, told()) == ("accepted", TOLD)


def test_an_id_is_not_attached(lost, fake, staff_client):
    fake.polls["gen_77"], fake.named["gen_77"] = made(), "gen_78"
    page = reverse("admin:attach", args=[Call.objects.get().pk])
    form = {"reference": "gen_77", "seen": "gen_77", "reason": "seen in their history"}
    answer = staff_client.post(page, form)
    assert answer.status_code == 409
    assert "the answer names another run" in text_of(answer)
    assert (Call.objects.get().reference, StaffAction.objects.count()) == (None, 0)
    assert told() == TOLD


def test_a_list_of_another_time_finds_nobody(lost, go_on, fake):
    begun = Call.objects.get().sent_at
    fake.runs = [
        Run("gen_7", OFFER.model, begun),
        Run("gen_8", OFFER.model, begun - 20 * MINUTE * 6),
    ]
    go_on()
    call = Call.objects.get()
    assert (call.reference, call.last_answer) == (None, "cannot tell: list_failed")
    assert told() == TOLD


def test_staff_are_told_once_and_as_long_as_it_lasts(running, go_on, fake):
    fake.named["run-1"] = "run-2"
    for _ in range(20):
        go_on(MINUTE)
        watch.look(timezone.now())
    assert Alert.objects.filter(kind="other_run").count() == 1
    assert told() == TOLD


def test_the_alert_closes_ten_minutes_after_the_last_such_answer(running, go_on, fake):
    fake.named["run-1"] = "run-2"
    go_on()
    fake.named.clear()
    watch.look(timezone.now() + 9 * MINUTE)
    assert told() == TOLD
    watch.look(timezone.now() + 11 * MINUTE)
    assert told() == []
