"""Deliver open alerts: by email to ALERT_EMAILS and as a small JSON document to ALERT_URL.

    due_at ──take: compare-and-set──> sent_at ──send, outside of any transaction──> result
                                         └──given back if it certainly did not arrive──> due_at

At most once per opening and channel. A process that dies between mark and sending loses the
message, but the alert is still listed in the admin. A failed delivery is retried after growing
delays, until the alert closes. The message is the alert's own text, which holds no key and no
prompt.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.core.outages import outlast
from jobs.notifications import mailing
from jobs.notifications.mailing import DeliveryResult
from providers.wire.http import WIRE_ERRORS, Client, innermost
from quotas.models import Alert

log = logging.getLogger(__name__)

POST_WITHIN = 10
RUN_LASTS = 30
# Per channel: a server that hangs delays no other channel.
MOST_SENDING = 4


def mail(alert: Alert) -> DeliveryResult:
    message = EmailMessage(
        subject=_("Alert: %(what)s · Counterfoil") % {"what": _title(alert)},
        body="\n\n".join(filter(None, [_title(alert), alert.words, _since(alert), _address()])),
        to=settings.ALERT_EMAILS,
        headers=mailing.headers(f"alert.{alert.pk}"),
    )
    return mailing.post(message, f"alert {alert.pk}")


def post(alert: Alert) -> DeliveryResult:
    """Send once, without following redirects, within ten seconds in total. The URL may be a secret.
    The status is enough, so the body is not read."""
    with Client() as client:
        url, facts = settings.ALERT_URL, _facts(alert)
        try:
            with client.open("POST", url, total=POST_WITHIN, json=facts) as response:
                status = response.status_code
        except WIRE_ERRORS as exc:
            if not client.wire.connected:
                log.warning("ALERT_URL was not reached: %s", innermost(exc))
                return DeliveryResult.UNREACHABLE
            log.warning(
                "Alert %s may be lost on its way to ALERT_URL: %s", alert.pk, innermost(exc)
            )
            return DeliveryResult.POSTED
    if 200 <= status < 300:
        return DeliveryResult.POSTED
    log.warning("ALERT_URL refused alert %s: HTTP %s", alert.pk, status)
    return DeliveryResult.REFUSED


@dataclass(frozen=True)
class Channel:
    """One way to tell, with the columns of its own marks."""

    name: str
    send: Callable[[Alert], DeliveryResult]
    sent_at: str

    def due(self, now: datetime):
        due = Alert.objects.open().filter(**{f"{self.name}_due_at__lte": now})
        return due.order_by("opened_at", "pk")

    def take(self, alert: Alert, now: datetime) -> bool:
        """False when another process sends it, or it has closed."""
        marks = {f"{self.name}_due_at": None, self.sent_at: now}
        return self.due(now).filter(pk=alert.pk).order_by().update(**marks) == 1

    def follow(self, alert: Alert, fate: DeliveryResult, taken_at: datetime) -> None:
        """Due again later, unless it arrived or may have."""
        if fate is DeliveryResult.POSTED:
            return
        count = f"{self.name}_tries"
        again_at = mailing.again_at(getattr(alert, count), taken_at)
        if again_at is None:
            log.error("Telling of alert %s by %s is given up", alert.pk, self.name)
        mine = Alert.objects.filter(**{"pk": alert.pk, self.sent_at: taken_at})
        mine.update(**{self.sent_at: None, f"{self.name}_due_at": again_at, count: F(count) + 1})


CHANNELS = (Channel("mail", mail, "mailed_at"), Channel("post", post, "posted_at"))


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_SENDING * len(CHANNELS), thread_name_prefix="post")


@dataclass
class Posts:
    """Deliveries in progress. Threads send and read or write no row, so the ticker goes on polling;
    its main thread marks before and notes the result. No more is marked than is sent at once, so
    that a death loses few."""

    pool: ThreadPoolExecutor = field(default_factory=_threads)
    sending: dict[Future[DeliveryResult], tuple[Channel, Alert, datetime]] = field(
        default_factory=dict
    )

    def start(self, now: datetime) -> None:
        for channel in CHANNELS:
            for alert in channel.due(now)[: self._room_of(channel)]:
                if channel.take(alert, now):
                    future = self.pool.submit(_send_safely, channel, alert)
                    self.sending[future] = (channel, alert, now)

    def collect(self) -> None:
        for future in [future for future in self.sending if future.done()]:
            channel, alert, taken_at = self.sending[future]
            channel.follow(alert, future.result(), taken_at)
            # Only now: where the database is away it is followed in a later round.
            del self.sending[future]

    def close(self) -> None:
        self.pool.shutdown(wait=False)

    def _room_of(self, channel: Channel) -> int:
        return MOST_SENDING - sum(taken is channel for taken, _, _ in self.sending.values())


def send_due(now: datetime) -> None:
    """Send all that is due, and start nothing after half a minute. For a worker."""
    posts, end = Posts(), time.monotonic() + RUN_LASTS
    posts.start(now)
    while posts.sending:
        wait(posts.sending, return_when=FIRST_COMPLETED)
        outlast(posts.collect)
        if time.monotonic() < end:
            posts.start(now)
    posts.close()


def _send_safely(channel: Channel, alert: Alert) -> DeliveryResult:
    try:
        return channel.send(alert)
    except Exception as exc:  # noqa: BLE001  the pool: it may have been delivered
        log.error("Alert %s may be lost by %s: %s", alert.pk, channel.name, type(exc).__name__)
        return DeliveryResult.POSTED


def _title(alert: Alert) -> str:
    return f"{alert.get_kind_display()}: {alert.subject}"


def _since(alert: Alert) -> str:
    opened = f"{timezone.localtime(alert.opened_at, timezone.get_default_timezone()):%d %b %H:%M}"
    return _(
        "Open since %(at)s UTC. You will not get another message about this alert "
        "while it stays open."
    ) % {"at": opened}


def _address() -> str:
    return settings.PUBLIC_URL and settings.PUBLIC_URL + reverse("admin:quotas_alert_changelist")


def _facts(alert: Alert) -> dict[str, object]:
    """Chat rooms show `text`; `id` identifies an alert that is delivered twice."""
    return {
        "id": alert.pk,
        "text": ". ".join(filter(None, [_title(alert), alert.words])),
        "kind": alert.kind,
        "subject": alert.subject,
        "words": alert.words,
        "opened_at": alert.opened_at.isoformat(),
        "site": settings.PUBLIC_URL,
    }
