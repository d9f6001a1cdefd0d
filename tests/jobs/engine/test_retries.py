"""Another try is a job of its own, linked to the one before, and never a second payment."""

from datetime import timedelta

import pytest
from django.urls import reverse

from jobs.core.models import Job
from quotas.models import Attempt
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued")]

NEW = reverse("new_picture")


def form_of(earlier) -> dict[str, str]:
    return {
        "prompt": "A harbour",
        "aspect_ratio": "1:1",
        "form_key": "0123456789abcdef",
        "retry_of": str(earlier.pk),
    }


def retry(client, earlier) -> Job:
    response = client.post(NEW, form_of(earlier))
    assert response.status_code == 303
    return Job.objects.get(pk=response["Location"].rpartition("/")[2])


@pytest.mark.parametrize("make", [rows.failed, rows.cancelled, rows.not_confirmed])
def test_a_retry_is_a_new_job_with_a_slot_of_its_own(ana_client, account, now, make):
    earlier = make(account, now)
    before = (earlier.state, earlier.version, earlier.attempt.state)
    later = retry(ana_client, earlier)
    assert (later.retry_of, later.try_number, later.state) == (earlier, 2, "queued")
    assert later.attempt_id != earlier.attempt_id
    earlier = rows.again(earlier)
    assert (earlier.state, earlier.version, earlier.attempt.state) == before


def test_tries_are_counted_along_the_chain(ana_client, account, now):
    second = rows.failed(account, now)
    Job.objects.filter(pk=second.pk).update(try_number=2)
    assert retry(ana_client, second).try_number == 3


@pytest.mark.parametrize("make", [rows.queued, rows.generating, rows.lost, rows.overdue])
def test_a_job_that_goes_on_is_not_retried(ana_client, account, now, make):
    earlier = make(account, now)
    response = ana_client.post(NEW, form_of(earlier))
    assert response.status_code == 409
    assert "may still produce a picture, so we did not start another" in text_of(response)
    assert "A harbour</textarea>" in response.content.decode()
    assert (Job.objects.count(), Attempt.objects.count()) == (1, 1)


def test_the_form_for_a_job_that_goes_on_leads_back_to_it(ana_client, account, now):
    earlier = rows.lost(account, now)
    response = ana_client.get(NEW, {"from": earlier.pk}, follow=True)
    assert response.redirect_chain[-1][0] == f"/jobs/{earlier.pk}"
    assert "may still produce a picture" in text_of(response)


def test_a_late_picture_is_shown_before_another_is_ordered(ana_client, account, now):
    response = ana_client.post(NEW, form_of(rows.ready_late(account, now)))
    assert response.status_code == 409
    assert "produced its picture after all" in text_of(response)
    assert 'name="retry_of" id="id_retry_of"' in response.content.decode()


def test_the_same_retry_sent_twice_is_one_job(ana_client, account, now):
    earlier = rows.failed(account, now)
    assert retry(ana_client, earlier) == retry(ana_client, earlier)


def test_the_retry_is_found_again_when_the_first_came_late(ana_client, account, now):
    earlier = rows.failed_billed(account, now)
    later = retry(ana_client, earlier)
    rows.news(earlier, rows._done(), now + timedelta(minutes=1))
    rows.delivered(earlier, now + timedelta(minutes=2))
    assert retry(ana_client, earlier) == later


@pytest.mark.parametrize(
    ("make", "is_retry"), [(rows.failed, True), (rows.cancelled, True), (rows.ready, False)]
)
def test_only_a_job_without_a_picture_is_tried_again(ana_client, account, now, make, is_retry):
    source = make(account, now)
    shown = ana_client.get(NEW, {"from": source.pk}, follow=True).content.decode()
    assert (f'name="retry_of" value="{source.pk}"' in shown) == is_retry


def test_both_pages_lead_to_each_other(ana_client, account, now):
    earlier = rows.failed(account, now)
    later = retry(ana_client, earlier)
    shown = ana_client.get(reverse("job", args=[earlier.pk])).content.decode()
    assert f'id="later-try" href="/jobs/{later.pk}"' in shown
    response = ana_client.get(reverse("job", args=[later.pk]))
    assert f'id="earlier-try" href="/jobs/{earlier.pk}"' in response.content.decode()
    assert "Try 2" in text_of(response)


def test_the_job_of_another_is_not_linked(ben_client, account, now):
    assert retry(ben_client, rows.failed(account, now)).retry_of is None


def test_a_number_that_is_none_is_an_error_of_the_form(ana_client, account, now):
    form = form_of(rows.failed(account, now)) | {"retry_of": "not-a-number"}
    assert ana_client.post(NEW, form).status_code == 422
