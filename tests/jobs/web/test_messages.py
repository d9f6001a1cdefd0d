"""What is said after something was done or could not be, in the tone of what happened."""

import pytest
from django.contrib.messages import info
from django.urls import reverse

from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def press(client, name: str, job):
    return client.post(reverse(name, args=[job.pk]), follow=True)


@pytest.mark.parametrize(
    ("make", "name", "tone", "says"),
    [
        (rows.ready, "delete_result", "ready", "The picture was deleted."),
        (rows.failed, "delete_result", "failed", "There is no picture to delete."),
        (rows.ready, "stop_waiting", "neutral", "This request had already ended."),
        (rows.cancelled, "cancel_job", "neutral", "This request had already been cancelled."),
        (rows.ready, "cancel_job", "failed", "This request had already ended."),
        (rows.sending, "cancel_job", "failed", "We had already started sending this request."),
    ],
)
def test_message_has_the_tone_of_what_happened(ana_client, account, now, make, name, tone, says):
    response = press(ana_client, name, make(account, now))
    assert f'<p class="notice" data-tone="{tone}">' in response.content.decode()
    assert says in text_of(response)


def test_the_try_that_may_still_come_is_told_as_a_doubt(ana_client, account, now):
    job = rows.lost(account, now)
    response = ana_client.get("/images/new", {"from": job.pk}, follow=True)
    assert 'class="notice" data-tone="doubt">Your earlier try may' in response.content.decode()


def test_message_is_told_once(ana_client, account, now):
    press(ana_client, "delete_result", rows.ready(account, now))
    assert "was deleted" not in text_of(ana_client.get("/gallery"))


def test_message_of_another_app_is_neutral(ana_client, account, now, monkeypatch):
    monkeypatch.setattr(
        "jobs.web.views.jobs.tell", lambda request, name: info(request, "By another.")
    )
    shown = press(ana_client, "delete_result", rows.ready(account, now))
    assert 'data-tone="neutral">By another.' in shown.content.decode()
