"""One e-mail at the end of a job, to a signed-in person who asked for it, and never a second."""

import uuid
from datetime import timedelta

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import OperationalError, connection
from django.utils import timezone

from jobs.core import outages
from jobs.core.models import Job, Lease
from jobs.engine import incoming
from jobs.notifications import notices
from jobs.notifications.mailing import DELAYS
from jobs.notifications.notices import DUTY, DUTY_LASTS
from jobs.ops import audit
from jobs.processes import tasks, ticker
from tests import rows
from tests.jobs.conftest import text_of
from tests.jobs.web.test_pages_job import page
from tests.postbox import Postbox

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]

OFFER = "Email me when it finishes"


@pytest.fixture(autouse=True)
def _public(settings):
    settings.PUBLIC_URL = "https://pictures.example.org"


@pytest.fixture
def ana(ana):
    ana.email = "ana@example.org"
    ana.save()
    return ana


@pytest.fixture
def postbox(settings):
    """A real mail server; what is sent goes there."""
    with Postbox() as postbox:
        use(settings, postbox.port)
        yield postbox


def use(settings, port: int) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False


def wished(job: Job, now) -> Job:
    assert notices.ask(job.pk, now)
    return rows.again(job)


def end(job: Job, now) -> Job:
    """By the provider's word."""
    return rows.news(job, rows.Failed(rows.Cause("provider")), now)


def send_all(at=None) -> None:
    """As the ticker and a worker do it; `at` moves what is due later to then."""
    if at:
        Job.objects.filter(notice_due_at__isnull=False).update(notice_due_at=at)
    Lease.objects.filter(name=DUTY).delete()
    notices.send_due(uuid.uuid4())


@pytest.fixture
def due(account, now) -> Job:
    """A job that failed, its mail not sent yet."""
    return end(wished(rows.generating(account, now), now), now + timedelta(minutes=4))


# The page


def test_mail_is_asked_for_and_taken_back(ana_client, account, now):
    job = rows.generating(account, now)
    assert OFFER in text_of(page(ana_client, job))
    assert ana_client.post(f"/jobs/{job.pk}/mail").status_code == 303
    assert "You asked for an email when it finishes." in text_of(page(ana_client, job))
    ana_client.post(f"/jobs/{job.pk}/mail", {"take_back": ""})
    assert OFFER in text_of(page(ana_client, job))
    requests = job.events.filter(name__startswith="mail_").order_by("pk")
    assert [event.name for event in requests] == ["mail_requested", "mail_cancelled"]
    assert list(audit.violations(now)) == []
    end(job, now)
    send_all()
    assert mail.outbox == []


@pytest.mark.parametrize("address", ["", "ana", "ana@example.org\nBcc: ben@example.org"])
def test_mail_is_not_offered_without_a_usable_address(ana, ana_client, account, now, address):
    ana.email = address
    ana.save()
    job = rows.generating(account, now)
    assert OFFER not in text_of(page(ana_client, job))
    assert ana_client.post(f"/jobs/{job.pk}/mail").status_code == 404


def test_a_visitor_gets_no_mail(visitor_client, visitor, now):
    job = rows.generating(visitor, now)
    assert OFFER not in text_of(page(visitor_client, job))
    assert visitor_client.post(f"/jobs/{job.pk}/mail").status_code == 404
    Job.objects.filter(pk=job.pk).update(notice_due_at=now)
    end(job, now)
    send_all()
    assert mail.outbox == []


def test_mail_is_not_offered_at_the_end(ana_client, account, now):
    job = rows.failed(account, now)
    assert OFFER not in text_of(page(ana_client, job))
    answer = ana_client.post(f"/jobs/{job.pk}/mail", follow=True)
    assert "This request had already ended." in text_of(answer)
    assert rows.again(job).notice_due_at is None


def test_nobody_asks_for_mail_about_anothers_job(ben, ben_client, account, now):
    job = rows.generating(account, now)
    assert ben_client.post(f"/jobs/{job.pk}/mail").status_code == 404
    assert rows.again(job).notice_due_at is None


def test_other_windows_see_the_wish(account, now):
    job = rows.generating(account, now)
    assert wished(job, now).version == job.version + 1


# What is sent, and when


@pytest.mark.parametrize("end", [rows.ready, rows.failed, rows.not_confirmed, rows.not_fetched])
def test_each_end_is_told_once(account, now, end):
    Job.objects.filter(pk=end(account, now).pk).update(notice_due_at=now)
    for _ in range(2):
        send_all()
    [message] = mail.outbox
    assert message.to == ["ana@example.org"]


def test_nothing_is_sent_without_the_wish(account, now):
    for lead in (rows.ready, rows.failed, rows.not_fetched, rows.not_confirmed, rows.ready_late):
        lead(account, now)
    send_all()
    assert mail.outbox == []


@pytest.mark.parametrize("state", [rows.queued, rows.generating, rows.lost, rows.cancelled])
def test_nothing_is_sent_before_the_end_or_after_a_cancel(account, now, state):
    Job.objects.filter(pk=state(account, now).pk).update(notice_due_at=now)
    send_all()
    assert mail.outbox == []


def test_message_says_state_time_and_address_but_not_the_prompt(due):
    send_all()
    [message] = mail.outbox
    assert message.subject == "Failed · Counterfoil"
    assert "from 14 Mar, 12:00 UTC: Failed." in message.body
    assert "Ended on 14 Mar, 12:04 UTC." in message.body
    assert f"https://pictures.example.org/jobs/{due.pk}\n" in message.body
    assert not [word for word in rows.PROMPT.split() if len(word) > 3 and word in message.body]


def test_headers_are_those_of_a_machine_and_the_same_for_a_copy(due):
    first, second = (notices.message_about(due, "ana@example.org").message() for _ in range(2))
    assert first["Auto-Submitted"] == "auto-generated"
    assert first["Message-ID"] == second["Message-ID"]
    assert first["Message-ID"] == f"<job.{due.pk}@pictures.example.org>"


def test_without_a_public_url_there_is_no_address(due, settings):
    settings.PUBLIC_URL = ""
    message = notices.message_about(due, "ana@example.org")
    assert "http" not in message.body
    assert message.message()["Message-ID"].endswith("@localhost>")


def test_late_result_brings_no_second_mail(account, now):
    job = wished(rows.lost(account, now), now)
    incoming.give_up(rows.call_of(job), rows.call_of(job).give_up_at)
    send_all()
    job = rows.news(job, rows._done(), now + timedelta(days=2))
    rows.delivered(job, now + timedelta(days=2))
    assert rows.again(job).state == "ready"
    send_all()
    assert [message.subject for message in mail.outbox] == ["Not confirmed · Counterfoil"]


def test_mail_that_waits_tells_of_a_late_result(account, now):
    job = wished(rows.lost(account, now), now)
    incoming.give_up(rows.call_of(job), rows.call_of(job).give_up_at)
    job = rows.news(job, rows._done(), now + timedelta(days=2))
    rows.delivered(job, now + timedelta(days=2))
    send_all()
    assert [message.subject for message in mail.outbox] == ["Ready · Counterfoil"]


def test_address_that_would_add_a_header_gets_nothing(ana, due):
    ana.email = "ana@example.org\nBcc: ben@example.org"
    ana.save()
    send_all()
    assert mail.outbox == []
    assert rows.again(due).notice_due_at is None


def test_address_that_no_header_carries_holds_up_no_other(due, ana, account, now, postbox):
    """It passes for an address; its name is too long for a domain once it is written in ASCII."""
    ana.email = f"ana@{'ä' * 62}.example"
    ana.save()
    end(wished(rows.generating(account, now), now), now)
    send_all()
    assert list(Job.objects.values_list("notice_tries", flat=True)) == [1, 1]
    assert not Lease.objects.filter(name=DUTY).exists()


def test_mail_is_sent_outside_of_a_transaction(due, monkeypatch):
    depths = []
    monkeypatch.setattr(
        EmailBackend, "send_messages", lambda *given: depths.append(len(connection.atomic_blocks))
    )
    send_all()
    # The test's own, in which everything happens.
    assert depths == [1]


# Nobody waits for it


def test_one_message_is_queued_for_all_that_is_due(due, account, now, enqueued):
    end(wished(rows.generating(account, now), now), now)
    enqueued.clear()
    for seconds in range(50):
        notices.wake_due(now + timedelta(minutes=5, seconds=seconds))
    assert [message[0] for message in enqueued] == ["jobs.processes.tasks.send_notices"]
    tasks.send_notices(*enqueued[0][1])
    assert len(mail.outbox) == 2


def test_nothing_is_queued_while_nothing_is_due(account, now, enqueued):
    wished(rows.generating(account, now), now)
    enqueued.clear()
    notices.wake_due(now)
    assert enqueued == []


def test_the_ticker_and_its_backstop_look_for_mail(due, enqueued):
    enqueued.clear()
    assert ticker.tick_once_if_alone()
    assert [message[0] for message in enqueued].count("jobs.processes.tasks.send_notices") == 1


def test_a_lost_message_is_queued_again(due, now, enqueued):
    enqueued.clear()
    for minutes in (5, 7):
        notices.wake_due(now + timedelta(minutes=minutes))
    assert len(enqueued) == 2


def test_a_clock_that_was_set_back_does_not_hold_the_mail(due, now, enqueued):
    Lease.objects.create(
        name=DUTY, token=uuid.uuid4(), holder="elsewhere/1/1/x", until=now + timedelta(days=1)
    )
    enqueued.clear()
    notices.wake_due(now + timedelta(minutes=5))
    assert len(enqueued) == 1


def test_two_workers_do_not_send_at_the_same_time(due):
    other = Lease.objects.create(
        name=DUTY, token=uuid.uuid4(), holder="elsewhere/1/1/x", until=timezone.now() + DUTY_LASTS
    )
    notices.send_due(uuid.uuid4())
    assert mail.outbox == []
    notices.send_due(other.token)
    assert len(mail.outbox) == 1


def test_the_mail_server_has_ten_seconds_for_each_answer(settings):
    assert settings.EMAIL_TIMEOUT == 10


# A mail server that fails


@pytest.fixture
def away(settings):
    """A mail server that is away until it is entered."""
    postbox = Postbox()
    use(settings, postbox.port)
    yield postbox
    postbox.server_close()


def test_mail_goes_out_once_the_server_is_back(due, away):
    send_all()
    waits = rows.again(due)
    assert (waits.notified_at, waits.notice_tries) == (None, 1)
    with away as postbox:
        send_all(waits.created_at)
        send_all()
        assert len(postbox.taken) == 1
    assert rows.again(due).notified_at


@pytest.mark.usefixtures("away")
def test_all_mail_rests_after_an_outage(due, account, now):
    end(wished(rows.generating(account, now), now), now)
    notices.send_due(uuid.uuid4())
    assert Lease.objects.filter(name=DUTY).exists()
    assert sorted(Job.objects.values_list("notice_tries", flat=True)) == [0, 1]


def test_a_refused_mail_is_tried_again_and_holds_up_no_other(due, account, now, postbox):
    end(wished(rows.generating(account, now), now), now)
    postbox.manner = "refuse"
    send_all()
    assert list(Job.objects.values_list("notice_tries", flat=True)) == [1, 1]
    postbox.manner = "take"
    send_all(now)
    assert len(postbox.taken) == 2


def test_mail_that_is_never_taken_is_given_up(due, now, postbox, caplog):
    postbox.manner = "refuse"
    for _ in range(len(DELAYS) + 3):
        send_all(now)
    given_up = rows.again(due)
    assert (given_up.notice_due_at, given_up.notified_at) == (None, None)
    assert given_up.notice_tries == len(DELAYS) + 1
    assert f"The mail about job {due.pk} is given up" in caplog.text


def test_mail_that_the_server_may_have_is_not_sent_again(due, now, postbox, caplog):
    postbox.manner = "cut"
    send_all()
    postbox.manner = "take"
    send_all(now)
    assert len(postbox.taken) == 1
    assert rows.again(due).notified_at
    assert "may be lost" in caplog.text


def test_a_refusal_while_the_database_is_away_is_noted_once_it_is_back(
    due, now, postbox, monkeypatch
):
    postbox.manner = "refuse"
    try_later, failures = notices._try_later, [OperationalError("the database is away")] * 2

    def try_later_than_that(*given):
        if failures:
            raise failures.pop()
        try_later(*given)

    monkeypatch.setattr(notices, "_try_later", try_later_than_that)
    monkeypatch.setattr(outages.connection, "close", lambda: None)
    monkeypatch.setattr(outages.time, "sleep", lambda seconds: None)
    later = now + timedelta(minutes=5)
    notices.send(due, later)
    assert rows.again(due).notice_due_at == later + DELAYS[0]


def test_death_between_mark_and_mail_sends_no_second(due, now, monkeypatch):
    def die(*given):
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr(EmailBackend, "send_messages", die)
        with pytest.raises(SystemExit):
            send_all()
    send_all(now)
    assert mail.outbox == []


def test_nothing_personal_is_logged(due, now, postbox, caplog):
    for manner in ("refuse", "cut"):
        postbox.manner = manner
        send_all(now)
    assert caplog.text
    assert "example.org" not in caplog.text
    assert rows.PROMPT not in caplog.text
