"""The page of one job says what is known, in every state, to its owner alone."""

import re
import uuid
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs import outcomes
from jobs.core.models import Heartbeat, Job
from jobs.pictures import panels
from providers.calls.durations import Usual
from providers.calls.models import Call
from providers.outcomes import Cause, Rejected
from tests import rows
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

SAYS = {
    "queued": "You are next in the queue. You can close this page.",
    "sending": "A test picture usually takes a few seconds. You can close this page.",
    "busy": ("All providers are busy. You keep your place in the queue. You can close this page."),
    "generating": "A test picture usually takes a few seconds. You can close this page.",
    "unwanted": (
        "You stopped waiting at 12:00 UTC. We cannot take the request back. If the "
        "picture arrives, it is yours and uses the slot. If it fails, the slot is "
        "given back."
    ),
    "lost": (
        "The provider stopped answering at 12:00 UTC. It may have made the picture and "
        "charged for it, so we did not send the request again. The provider gave us no "
        "reference, so we cannot check. If we learn that the picture was made, you get "
        "it. Your slot for 14 Mar stays on hold until 00:00 UTC."
    ),
    "overdue": (
        "The provider is late. At 12:15 UTC it said that it was still working. It may "
        "have made the picture and charged for it, so we did not send the request "
        "again. We check every 30 seconds."
    ),
    "silent": (
        "When we checked at 12:15 UTC, the provider gave no usable answer. It may have "
        "made the picture and charged for it, so we did not send the request again. We "
        "check every 30 seconds."
    ),
    "saving": ("The picture is made. We are downloading and saving it. You can close this page."),
    "ready": "Ready in 6.0 s.",
    "deleted": "Ready in 6.0 s. You deleted the picture at 12:00 UTC.",
    "failed": (
        "The provider refused this prompt because of its content rules. Your slot was given back."
    ),
    "failed_billed": "The provider reported an error. Your slot was given back.",
    "not_fetched": "The picture was made, but we could not download it. Your slot was given back.",
    "unread_result": (
        "The picture was made, but we cannot read it. Staff have been notified. We "
        "keep what the provider sent. Your slot is on hold. Staff can deliver the "
        "picture or give the slot back."
    ),
    "cancelled": "You cancelled this request before we sent it. Your slot was given back.",
    "not_confirmed": (
        "We never found out whether the picture was made. Your slot for 14 Mar stays on hold until"
    ),
    "given_back": (
        "We have not found out whether the picture was made. If it still arrives, it "
        "is yours and uses no slot. Your slot was given back."
    ),
    "ready_late": "Your slot had already been given back, so this picture used none.",
}
CHIPS = {
    "queued": "Queued",
    "busy": "Queued",
    "lost": "Confirming",
    "overdue": "Confirming",
    "silent": "Confirming",
    "unread_result": "Confirming",
    "ready": "Ready",
    "deleted": "Ready",
    "ready_late": "Ready",
    "failed": "Failed",
    "failed_billed": "Failed",
    "not_fetched": "Failed",
    "given_back": "Failed",
    "cancelled": "Cancelled",
    "not_confirmed": "Not confirmed",
}
OPEN = (
    "queued",
    "sending",
    "busy",
    "generating",
    "unwanted",
    "lost",
    "overdue",
    "silent",
    "saving",
    "unread_result",
)
each_state = pytest.mark.parametrize("make", rows.EVERY_STATE, ids=lambda make: make.__name__)


def page(client, job, **kwargs):
    return client.get(reverse("job", args=[job.pk]), **kwargs)


@each_state
def test_page_says_what_is_known(ana_client, account, now, make):
    response = page(ana_client, make(account, now))
    assert response.status_code == 200
    assert SAYS[make.__name__] in text_of(response)


@each_state
def test_chip_has_the_word_of_the_state(ana_client, account, now, make):
    chip = CHIPS.get(make.__name__, "Generating")
    shown = page(ana_client, make(account, now)).content.decode().partition('class="chip"')[2]
    assert chip in shown.partition("</span>")[0]


@each_state
def test_no_wire_detail_reaches_the_page(ana_client, account, now, make):
    job = make(account, now)
    shown = text_of(page(ana_client, job)).replace(str(job.pk), "")
    for secret in ("SECRET_CODE", "secret text", "422", "429", "timeout", "http://127", "5.00"):
        assert secret not in shown


@each_state
def test_open_job_has_a_stream_and_an_ended_one_has_none(ana_client, account, now, make):
    job = make(account, now)
    shown = page(ana_client, job).content.decode()
    assert (f'data-stream="/jobs/{job.pk}/stream"' in shown) == (make.__name__ in OPEN)


@each_state
def test_without_scripts_an_open_page_refreshes_itself(ana_client, account, now, make):
    shown = page(ana_client, make(account, now)).content.decode()
    refreshes = '<noscript><meta http-equiv="refresh" content="5"></noscript>' in shown
    assert refreshes == (make.__name__ in OPEN)
    assert ('id="refresh"' in shown) == refreshes


@each_state
def test_poll_ends_with_the_job(ana_client, account, now, make):
    response = page(ana_client, make(account, now), headers=HTMX)
    assert response.status_code == (200 if make.__name__ in OPEN else 286)


def test_poll_gets_the_panel_and_the_quota_only(ana_client, account, now):
    shown = page(ana_client, rows.generating(account, now), headers=HTMX).content.decode()
    assert "<html" not in shown
    assert 'id="_job_panel"' in shown
    assert '<p id="quota" hx-swap-oob="true">' in shown


def test_poll_announces_news_only(ana_client, account, now):
    job = rows.generating(account, now)
    seen = page(ana_client, job, headers=HTMX, data={"seen": job.version})
    news = page(ana_client, job, headers=HTMX, data={"seen": job.version - 1})
    assert 'id="status"' not in seen.content.decode()
    assert 'id="status" hx-swap-oob="innerHTML"' in news.content.decode()


def test_history_restore_gets_the_whole_page(ana_client, account, now):
    headers = {**HTMX, "HX-History-Restore-Request": "true"}
    shown = page(ana_client, rows.ready(account, now), headers=headers).content.decode()
    assert "<html" in shown


def test_answer_varies_by_what_asks(ana_client, account, now):
    response = page(ana_client, rows.queued(account, now))
    assert "HX-Request" in response["Vary"]
    assert "private" in response["Cache-Control"]


def test_ready_job_shows_its_picture_and_who_made_it(ana_client, account, now):
    job = rows.ready(account, now)
    response = page(ana_client, job)
    picture = job.pictures.get()
    assert f'src="/images/{picture.pk}/file"' in response.content.decode()
    assert "Made by sandbox / test-picture in 6.0 s." in text_of(response)


@pytest.mark.parametrize("name", ["job", "picture"])
def test_who_made_it_is_told_and_not_who_was_asked_first(ana_client, account, now, name):
    job = rows.ready(account, now)
    Call.objects.update(provider="polza", model="some/model")
    shown = ana_client.get(reverse(name, args=[job.pk if name == "job" else job.pictures.get().pk]))
    assert "polza / some/model" in text_of(shown)
    assert "sandbox / test-picture" not in text_of(shown)
    assert "A test picture, drawn by the test provider" not in text_of(shown)


def test_test_picture_is_called_one(ana_client, account, now):
    says = "A test picture, drawn by the test provider without any AI."
    assert says in text_of(page(ana_client, rows.ready(account, now)))


def test_chosen_fault_is_told(ana_client, account, now):
    job = rows.queued(account, now, fault="drop_after")
    assert "Connection dropped, picture made" in text_of(page(ana_client, job))


def test_queue_says_how_many_are_ahead(ana_client, account, visitor, now):
    for number in range(2):
        rows.queued(visitor, now - timedelta(seconds=number + 1))
    response = page(ana_client, rows.queued(account, now))
    assert "Waiting in the queue. 2 requests are ahead of you." in text_of(response)


def test_slow_job_is_called_slow(ana_client, account, now):
    job = rows.generating(account, now - timedelta(minutes=7))
    assert "Taking longer than usual." in text_of(page(ana_client, job))


def test_lost_call_of_yesterday_takes_no_slot_of_today(ana_client, account, now):
    response = page(ana_client, rows.lost(account, now - timedelta(days=1)))
    assert "The slot was for 13 Mar and does not count against today's." in text_of(response)
    assert "at 13 Mar, 12:00 UTC" in text_of(response)


def test_asking_more_rarely_after_a_day_is_told(ana_client, account, now, clock):
    job = rows.overdue(account, now)
    clock.move_to(now + timedelta(days=1, minutes=1))
    assert "We check every 10 minutes." in text_of(page(ana_client, job))


def test_our_own_death_is_not_blamed_on_the_provider(ana_client, account, now):
    response = page(ana_client, rows.lost(account, now, rule="sender_lost"))
    assert "We were interrupted at 12:00 UTC while sending the request." in text_of(response)


def test_unclear_answer_is_called_unclear(ana_client, account, now):
    response = page(ana_client, rows.lost(account, now, rule="gateway_error"))
    assert "does not say whether it accepted the request" in text_of(response)


def test_slot_is_not_called_given_back_while_it_is_held(ana_client, account, now):
    for make in (rows.lost, rows.overdue, rows.generating, rows.not_confirmed):
        assert "given back" not in text_of(page(ana_client, make(account, now)))


def test_late_failure_tells_of_the_slot(ana_client, account, now):
    job = rows.not_confirmed(account, now)
    job = rows.news(job, Rejected(Cause("provider")), now + timedelta(days=1, seconds=5))
    assert "no picture was made. Your slot was given back." in text_of(page(ana_client, job))


def test_standstill_is_told_where_nothing_lives(ana_client, account, now):
    response = page(ana_client, rows.queued(account, now))
    assert "The site is not processing requests at the moment" in text_of(response)


def test_no_standstill_while_ticker_and_cluster_live(ana_client, account, now, alive):
    alive()
    response = page(ana_client, rows.queued(account, now))
    assert "The site is not processing requests at the moment" not in text_of(response)


def test_no_standstill_while_silent_workers_are_busy(ana_client, account, now, alive):
    alive()
    job = rows.queued(account, now)
    Heartbeat.objects.filter(name="worker").delete()
    job.stages.update(
        due_at=None, lease_token=uuid.uuid4(), leased_until=timezone.now() + timedelta(seconds=30)
    )
    assert "The site is not processing requests at the moment" not in text_of(page(ana_client, job))


def test_ended_job_tells_of_no_standstill(ana_client, account, now):
    response = page(ana_client, rows.ready(account, now))
    assert "The site is not processing requests at the moment" not in text_of(response)


def test_history_is_told_in_words(ana_client, account, now):
    text = text_of(page(ana_client, rows.ready(account, now)))
    assert "14 Mar 12:00:00 Slot 1 of 14 Mar was reserved." in text
    assert "14 Mar 12:00:06 The picture is ready." in text


@pytest.mark.parametrize("asker", ["ben_client", "staff_client", "visitor_client", "client"])
def test_job_of_another_is_not_there(request, account, now, asker):
    job = rows.ready(account, now)
    response = page(request.getfixturevalue(asker), job)
    assert response.status_code == 404
    assert job.prompt not in response.content.decode()


def test_visitor_sees_the_own_job(visitor_client, visitor, now):
    assert page(visitor_client, rows.queued(visitor, now)).status_code == 200


def test_queued_job_is_cancelled_with_its_slot_back(ana_client, account, now):
    job = rows.queued(account, now)
    response = ana_client.post(reverse("cancel_job", args=[job.pk]), follow=True)
    assert response.redirect_chain == [(f"/jobs/{job.pk}", 303)]
    assert SAYS["cancelled"] in text_of(response)
    assert rows.again(job).attempt.state == "failed"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (rows.generating, "We had already started sending this request"),
        (rows.lost, "We had already started sending this request"),
        (rows.ready, "This request had already ended"),
        (rows.cancelled, "This request had already been cancelled."),
    ],
)
def test_cancelling_too_late_changes_nothing_and_says_so(ana_client, account, now, make, says):
    job = make(account, now)
    response = ana_client.post(reverse("cancel_job", args=[job.pk]), follow=True)
    assert says in text_of(response)
    assert (rows.again(job).state, rows.again(job).version) == (job.state, job.version)


def test_cancel_that_loses_the_race_says_so(ana_client, account, now, monkeypatch):
    job = rows.queued(account, now)

    def lose(job_id, now):
        rows._open_call(job, now)
        return False

    monkeypatch.setattr(outcomes, "cancel", lose)
    response = ana_client.post(reverse("cancel_job", args=[job.pk]), follow=True)
    assert "Too late to cancel. We had already started sending this request" in text_of(response)


def test_another_cannot_cancel(ben_client, account, now):
    job = rows.queued(account, now)
    assert ben_client.post(reverse("cancel_job", args=[job.pk])).status_code == 404
    assert Job.objects.get(pk=job.pk).state == "queued"


def test_looking_at_the_cancel_address_cancels_nothing(ana_client, account, now):
    job = rows.queued(account, now)
    assert ana_client.get(reverse("cancel_job", args=[job.pk])).status_code == 405


@pytest.mark.parametrize(
    ("make", "offered"),
    [
        (rows.queued, {"cancel"}),
        (rows.busy, {"cancel"}),
        (rows.generating, {"stop_waiting"}),
        (rows.unwanted, set()),
        (rows.lost, set()),
        (rows.ready, {"download-0", "reuse", "delete"}),
        (rows.deleted, {"reuse"}),
        (rows.failed, {"edit"}),
        (rows.failed_billed, {"again"}),
        (rows.cancelled, {"restart"}),
        (rows.not_confirmed, {"restart"}),
    ],
)
def test_only_what_is_possible_is_offered(ana_client, account, now, make, offered):
    shown = page(ana_client, make(account, now)).content.decode()
    known = ("cancel", "download-0", "reuse", "edit", "again", "restart", "stop_waiting", "delete")
    assert {name for name in known if f'id="{name}"' in shown} == offered


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(3, "Usually takes 3–5 s."), (8, "Taking longer than the usual 3–5 s.")],
)
def test_running_job_is_held_against_this_sites_own_runs(
    ana_client, account, now, clock, monkeypatch, seconds, says
):
    usual = Usual(timedelta(seconds=3.4), timedelta(seconds=4.6))
    monkeypatch.setattr(panels, "usual_duration", lambda provider, model: usual)
    job = rows.generating(account, now)
    clock.move_to(now + timedelta(seconds=2 + seconds))
    assert says in text_of(page(ana_client, job))


@pytest.mark.parametrize(
    ("seconds", "look"), [(0, "6"), (1.5, "5"), (4.5, "2"), (5, ""), (3600, "")]
)
def test_the_panel_says_when_it_has_other_words_without_news(
    ana_client, account, now, clock, monkeypatch, seconds, look
):
    """A second after the moment, in whole seconds; a running job alone has one."""
    usual = Usual(timedelta(seconds=3.4), timedelta(seconds=4.6))
    monkeypatch.setattr(panels, "usual_duration", lambda provider, model: usual)
    job = rows.generating(account, now)
    began = job.events.get(name="accepted").at
    clock.move_to(began + timedelta(seconds=seconds))
    found = re.findall(r'data-look="(\d+)"', page(ana_client, job).content.decode())
    assert found == ([look] if look else [])


@pytest.mark.parametrize("make", [rows.queued, rows.lost, rows.ready, rows.failed])
def test_only_a_running_job_has_other_words_without_news(ana_client, account, now, make):
    assert "data-look" not in page(ana_client, make(account, now)).content.decode()


def test_a_model_without_runs_is_late_after_six_minutes(ana_client, account, now, clock):
    job = rows.generating(account, now)
    clock.move_to(job.events.get(name="sent").at)
    assert 'data-look="361"' in page(ana_client, job).content.decode()
