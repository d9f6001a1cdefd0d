"""An alert is mailed once and posted once an opening, whoever sends it and whatever dies."""

import json
import socket
import threading
from concurrent.futures import wait
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import OperationalError

from jobs.alerts import alert_delivery
from jobs.alerts.alert_delivery import CHANNELS, MOST_SENDING, POST_WITHIN, Posts, send_due
from jobs.core import outages
from jobs.notifications.mailing import DELAYS, DeliveryResult
from providers.wire import http
from quotas.alerts import close_alert, open_alert
from quotas.models import Alert, AlertKind
from tests.databases import Database
from tests.postbox import Postbox
from tests.providers.scripted import ScriptedServer
from tests.quotas.test_contention import contend, errors_in

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
# As in tests/jobs/lookers.py, which is a program.
TROUBLES, PROCESSES = 6, 4


@pytest.fixture(autouse=True)
def _told(settings):
    settings.ALERT_EMAILS = ["ops@example.org", "boss@example.org"]
    settings.PUBLIC_URL = "https://pictures.example.org"


@pytest.fixture
def opened(now):
    """Open an alert; how it stands."""

    def open_one(subject: str = "ticker", words: str = "Nothing is polled.") -> Alert:
        open_alert(kind=AlertKind.SILENT, subject=subject, words=words, now=now)
        return Alert.objects.latest("pk")

    return open_one


@pytest.fixture
def listener(settings):
    """What ALERT_URL names; `answer` says with which status."""
    servers = []

    def listen(*statuses: int) -> ScriptedServer:
        def script(status):
            return lambda line: (line.read_request(), line.answer(status, b"fine"))

        server = ScriptedServer(*[script(status) for status in statuses])
        servers.append(server)
        settings.ALERT_URL = f"{server.url}/room/SECRET-TOKEN"
        return server

    yield listen
    for server in servers:
        server.stop()


def test_all_who_are_named_get_one_mail(opened, now):
    alert = opened()
    send_due(now)
    send_due(now + MINUTE)
    [message] = mail.outbox
    assert message.to == ["ops@example.org", "boss@example.org"]
    assert message.subject == "Alert: not responding: ticker · Counterfoil"
    assert "Nothing is polled." in message.body
    assert "https://pictures.example.org/admin/quotas/alert/" in message.body
    assert message.extra_headers["Message-ID"] == f"<alert.{alert.pk}@pictures.example.org>"
    alert.refresh_from_db()
    assert (alert.mailed_at, alert.mail_due_at) == (now, None)


def test_the_address_gets_one_small_json(opened, listener, now):
    server = listener(204)
    opened()
    send_due(now)
    send_due(now + MINUTE)
    head, _, body = server.all_received(connections=1).partition(b"\r\n\r\n")
    assert head.startswith(b"POST /room/SECRET-TOKEN HTTP/1.1")
    assert json.loads(body) == {
        "id": Alert.objects.get().pk,
        "text": "not responding: ticker. Nothing is polled.",
        "kind": "silent",
        "subject": "ticker",
        "words": "Nothing is polled.",
        "opened_at": "2026-03-14T12:00:00+00:00",
        "site": "https://pictures.example.org",
    }
    assert len(server.lines) == 1


def test_nobody_is_told_where_nobody_is_named(opened, settings, now):
    settings.ALERT_EMAILS = []
    alert = opened()
    send_due(now)
    assert mail.outbox == []
    assert (alert.mail_due_at, alert.post_due_at) == (None, None)


def test_what_has_closed_is_told_no_more(opened, now):
    opened()
    close_alert(kind=AlertKind.SILENT, subject="ticker", now=now)
    send_due(now)
    assert mail.outbox == []


def test_what_is_open_is_told_once_and_after_its_end_anew(opened, now):
    for _ in range(2):
        opened()
        opened()
        send_due(now)
        close_alert(kind=AlertKind.SILENT, subject="ticker", now=now)
    assert len(mail.outbox) == 2


@pytest.mark.parametrize("status", [302, 404, 429, 500])
def test_an_address_that_refuses_is_asked_again_later(opened, listener, now, status, caplog):
    server = listener(status, 200)
    alert = opened()
    send_due(now)
    alert.refresh_from_db()
    assert (alert.posted_at, alert.post_due_at) == (None, now + DELAYS[0])
    send_due(now + DELAYS[0] - timedelta(seconds=1))
    assert len(server.lines) == 1
    send_due(now + DELAYS[0])
    alert.refresh_from_db()
    assert alert.posted_at == now + DELAYS[0]
    assert "SECRET-TOKEN" not in caplog.text


def test_a_refusal_whose_body_is_cut_is_a_refusal(opened, settings, now):
    def answer_half(line):
        line.read_request()
        line.send(b"HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\nhalf")

    server = ScriptedServer(answer_half)
    settings.ALERT_URL = server.url
    alert = opened()
    send_due(now)
    server.stop()
    alert.refresh_from_db()
    assert (alert.posted_at, alert.post_due_at) == (None, now + DELAYS[0])


def test_an_address_that_never_takes_it_is_given_up(opened, listener, now, caplog):
    listener(500)
    alert = opened()
    at = now
    for delay in (*DELAYS, MINUTE, MINUTE):
        send_due(at)
        at += delay
    alert.refresh_from_db()
    assert (alert.posted_at, alert.post_due_at) == (None, None)
    assert alert.post_tries == len(DELAYS) + 1
    assert "is given up" in caplog.text


def test_an_address_that_nobody_answers_is_asked_again(opened, settings, now, caplog):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        settings.ALERT_URL = f"http://127.0.0.1:{closed.getsockname()[1]}/room/SECRET-TOKEN"
        alert = opened()
        send_due(now)
    alert.refresh_from_db()
    assert (alert.posted_at, alert.post_due_at) == (None, now + DELAYS[0])
    assert "SECRET-TOKEN" not in caplog.text


def test_what_may_have_arrived_is_not_posted_again(opened, settings, now):
    server = ScriptedServer(lambda line: (line.read_request(), line.reset()))
    settings.ALERT_URL = server.url
    alert = opened()
    send_due(now)
    send_due(now + timedelta(days=1))
    server.stop()
    alert.refresh_from_db()
    assert alert.posted_at == now
    assert len(server.lines) == 1


def test_an_address_that_drips_has_ten_seconds_in_all(opened, settings, now, monkeypatch):
    assert POST_WITHIN == 10
    monkeypatch.setattr(alert_delivery, "POST_WITHIN", 0.4)
    server = ScriptedServer(lambda line: (line.read_request(), line.drip(b"HTTP/1.1 200 OK")))
    settings.ALERT_URL = server.url
    started = http.time.monotonic()
    opened()
    send_due(now)
    assert http.time.monotonic() - started < 3
    server.stop()


def test_a_channel_that_fails_holds_up_no_other(opened, listener, now):
    listener(500)
    opened()
    send_due(now)
    assert len(mail.outbox) == 1


def test_mail_that_is_refused_is_tried_again(opened, settings, now):
    with Postbox() as postbox:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", postbox.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        postbox.manner = "refuse"
        opened()
        send_due(now)
        postbox.manner = "take"
        send_due(now + DELAYS[0])
        assert len(postbox.taken) == 1


def test_death_between_mark_and_sending_tells_nobody_twice(opened, now, monkeypatch):
    def die(*given):
        raise SystemExit

    opened()
    with monkeypatch.context() as dying:
        dying.setattr(EmailBackend, "send_messages", die)
        with pytest.raises(SystemExit):
            send_due(now)
    send_due(now + timedelta(days=1))
    assert mail.outbox == []


def test_a_sending_that_raises_in_the_pool_is_no_death_of_the_ticker(opened, now, caplog):
    alert = opened()
    broken = alert_delivery.Channel("mail", lambda alert: 1 / 0, "mailed_at")
    assert alert_delivery._send_safely(broken, alert) is alert_delivery.DeliveryResult.POSTED
    assert "may be lost by mail" in caplog.text


def test_a_worker_goes_on_with_the_next_when_a_sending_raises(opened, now, monkeypatch, caplog):
    opened(), opened("cluster")
    monkeypatch.setattr(EmailBackend, "send_messages", lambda *given: 1 / 0)
    send_due(now)
    assert caplog.text.count("may be lost by mail") == 2


def test_a_server_that_hangs_holds_up_no_other_channel(opened, settings, now, monkeypatch):
    release_slot, posted = threading.Event(), threading.Event()
    settings.ALERT_URL = "http://127.0.0.1:1/"
    hung = replace(CHANNELS[0], send=lambda alert: release_slot.wait(60) and DeliveryResult.POSTED)
    quick = replace(CHANNELS[1], send=lambda alert: posted.set() or DeliveryResult.POSTED)
    monkeypatch.setattr(alert_delivery, "CHANNELS", (hung, quick))
    for number in range(MOST_SENDING + 3):
        opened(str(number))
    posts = Posts()
    posts.start(now)
    posts.start(now)
    assert posted.wait(60)
    assert Alert.objects.exclude(mailed_at=None).count() == MOST_SENDING
    release_slot.set()
    posts.close()


def test_what_was_refused_while_the_database_was_away_is_told_again(
    opened, settings, now, monkeypatch
):
    settings.ALERT_EMAILS, settings.ALERT_URL = ["ops@example.org"], ""
    opened()
    follow, posts = alert_delivery.Channel.follow, Posts()
    monkeypatch.setattr(alert_delivery, "_send_safely", lambda *given: DeliveryResult.UNREACHABLE)
    posts.start(now)
    wait(posts.sending)

    def away(*given):
        raise OperationalError("the database is away")

    monkeypatch.setattr(alert_delivery.Channel, "follow", away)
    with pytest.raises(OperationalError):
        posts.collect()
    monkeypatch.setattr(alert_delivery.Channel, "follow", follow)
    posts.collect()
    posts.close()
    assert Alert.objects.get().mail_due_at == now + MINUTE


def test_a_worker_outlasts_a_database_that_is_away_after_a_refusal(
    opened, settings, now, monkeypatch
):
    settings.ALERT_EMAILS, settings.ALERT_URL = ["ops@example.org"], ""
    opened()
    follow, failures = alert_delivery.Channel.follow, [OperationalError("the database is away")] * 2

    def follow_later(*given):
        if failures:
            raise failures.pop()
        follow(*given)

    monkeypatch.setattr(alert_delivery, "_send_safely", lambda *given: DeliveryResult.UNREACHABLE)
    monkeypatch.setattr(alert_delivery.Channel, "follow", follow_later)
    monkeypatch.setattr(outages.connection, "close", lambda: None)
    monkeypatch.setattr(outages.time, "sleep", lambda seconds: None)
    send_due(now)
    assert Alert.objects.get().mail_due_at == now + MINUTE


def test_two_takers_of_one_message_are_one(opened, now):
    alert = opened()
    assert [CHANNELS[0].take(alert, now), CHANNELS[0].take(alert, now)] == [True, False]


@dataclass(frozen=True)
class Telling(Database):
    """A database whose processes tell people by ports of this machine."""

    mail_port: int
    url_of_room: str

    def environment(self, data_dir: Path) -> dict[str, str]:
        return super().environment(data_dir) | {
            "EMAIL_HOST": "127.0.0.1",
            "EMAIL_PORT": str(self.mail_port),
            "EMAIL_TLS": "no",
            "DEFAULT_FROM_EMAIL": "site@example.org",
            "ALERT_EMAILS": "ops@example.org",
            "ALERT_URL": self.url_of_room,
        }


def test_an_alert_is_opened_mailed_and_posted_once_whoever_races(each_database, tmp_path):
    server = ScriptedServer(lambda line: (line.read_request(), line.answer(200)))
    with Postbox() as postbox:
        database = Telling(each_database.vendor, each_database.url, postbox.port, server.url)
        answers = contend(database, "look", tmp_path, module="tests.jobs.lookers")
        mailed = [message["Message-ID"] for message in postbox.taken]
    posted = server.all_received(connections=TROUBLES)
    server.stop()
    assert errors_in(answers) == []
    assert [answer["alerts"] for answer in answers] == [TROUBLES] * PROCESSES
    assert len(mailed) == len(set(mailed)) == TROUBLES
    assert len(server.lines) == posted.count(b"POST ") == TROUBLES
