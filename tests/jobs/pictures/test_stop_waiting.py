"""Stop waiting is a wish: it is noted once, ends nothing, and lets nothing be sent again."""

from datetime import timedelta

import pytest
from django.urls import reverse

from jobs import outcomes
from providers.outcomes import Cause, Failed, Rejected
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BUSY = Rejected(Cause("rate", rule="too_many", http=429))
SOON = timedelta(seconds=5)


def press(client, job):
    return client.post(reverse("stop_waiting", args=[job.pk]), follow=True)


def facts(job) -> tuple[str, str]:
    return job.state, job.attempt.state


def names_of(job) -> list[str]:
    return list(job.events.order_by("pk").values_list("name", flat=True))


@pytest.mark.parametrize("make", [rows.sending, rows.generating, rows.overdue, rows.lost])
def test_the_wish_keeps_state_slot_and_call(ana_client, account, now, make):
    job = make(account, now)
    call = rows.call_of(job).state
    assert press(ana_client, job).redirect_chain == [(f"/jobs/{job.pk}", 303)]
    assert facts(rows.again(job)) == facts(job)
    assert rows.call_of(job).state == call
    assert rows.again(job).version == job.version + 1


def test_the_page_says_since_when_nobody_waits(ana_client, account, now):
    shown = text_of(press(ana_client, rows.generating(account, now)))
    assert "You stopped waiting at 12:00 UTC. We cannot take the request back." in shown


def test_the_wish_is_noted_once(ana_client, account, now):
    job = rows.generating(account, now)
    press(ana_client, job)
    version = rows.again(job).version
    press(ana_client, job)
    assert names_of(job).count("unwanted") == 1
    assert rows.again(job).version == version


def test_a_picture_that_comes_is_kept(account, now):
    job = rows.unwanted(account, now)
    job = rows.delivered(rows.news(job, rows._done(), now + SOON), now + 2 * SOON)
    assert facts(job) == ("ready", "success")
    assert job.pictures.count() == 1


def test_a_failure_gives_the_slot_back(account, now):
    job = rows.news(rows.unwanted(account, now), Failed(Cause("provider")), now + SOON)
    assert facts(job) == ("failed", "failed")


def test_a_busy_provider_is_not_asked_again(account, now):
    job = rows.sending(account, now)
    assert outcomes.stop_waiting(job.pk, now)
    job = rows.news(job, BUSY, now + SOON)
    assert (*facts(job), job.reason) == ("failed", "failed", "unwanted")
    assert not job.stages.unfinished().exists()


def test_back_in_the_queue_it_is_cancelled_instead(ana_client, account, now):
    job = rows.busy(account, now)
    press(ana_client, job)
    assert facts(rows.again(job)) == ("cancelled", "failed")


def test_one_that_leaves_the_queue_meanwhile_is_not_called_ended(
    ana_client, account, now, monkeypatch
):
    def lose(job_id, now):
        rows._open_call(job, now)
        return False

    job = rows.busy(account, now)
    monkeypatch.setattr(outcomes, "cancel", lose)
    assert "This request had already ended." not in text_of(press(ana_client, job))
    assert names_of(job)[-2:] == ["sent", "unwanted"]


@pytest.mark.parametrize("make", [rows.ready, rows.failed, rows.cancelled, rows.not_confirmed])
def test_too_late_changes_nothing_and_says_so(ana_client, account, now, make):
    job = make(account, now)
    assert "This request had already ended." in text_of(press(ana_client, job))
    assert rows.again(job).version == job.version


def test_without_a_script_a_page_asks_first(ana_client, account, now):
    job = rows.generating(account, now)
    shown = text_of(ana_client.get(reverse("stop_waiting", args=[job.pk])))
    assert "Stop waiting for this picture?" in shown
    assert "may still make the picture and charge for it" in shown
    assert rows.again(job).unwanted_at is None


@pytest.mark.parametrize("make", [rows.queued, rows.unwanted, rows.lost, rows.ready])
def test_nothing_is_asked_where_it_is_not_offered(ana_client, account, now, make):
    job = make(account, now)
    response = ana_client.get(reverse("stop_waiting", args=[job.pk]))
    assert (response.status_code, response["Location"]) == (303, f"/jobs/{job.pk}")


def test_another_cannot_stop(ben_client, account, now):
    job = rows.generating(account, now)
    assert press(ben_client, job).status_code == 404
    assert rows.again(job).unwanted_at is None
