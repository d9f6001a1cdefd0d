"""The one email about the end of a job, to a signed-in user who requested it.

    page ──request──> notice_due_at   nothing is sent before the job has ended
    ticker ──wake_due──> one message  a worker takes it and sends all due emails, one by one
    worker ──send──> notified_at      by compare-and-set, committed; then the email, outside of any
                                      transaction

The mark is set first. A process that dies between mark and email loses the email, because the page
shows the same and a second email could not be recalled. The mark is removed only if the email was
certainly not accepted: no connection, or a reply that refuses it. A connection that breaks after
the text was sent proves nothing, and nothing is sent again.
"""

import logging
import time
import uuid
from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.core import leases, queue, transitions
from jobs.core.events import EventName
from jobs.core.models import Job, Lease
from jobs.core.outages import outlast
from jobs.core.states import OPEN
from jobs.kinds import kind_of
from jobs.notifications import mailing
from jobs.notifications.mailing import DeliveryResult
from jobs.words import wording

log = logging.getLogger(__name__)

# Its holder sends mail. After an outage it is left to expire, which delays all mail.
DUTY = "mail"
DUTY_LASTS = timedelta(minutes=1)
RUN_LASTS = 30


def find_address(job: Job) -> str:
    """The address of the job's person; the empty string for a visitor, or without a usable one."""
    people = get_user_model().objects.filter(account=job.account_id, is_active=True)
    address = people.values_list("email", flat=True).first() or ""
    with suppress(ValidationError):
        validate_email(address)
        return address
    return ""


def mail_offer(job: Job) -> str:
    """The control on the page: `ask` for an email, `take_back` the request, or empty."""
    if job.state not in OPEN or not find_address(job):
        return ""
    return "take_back" if job.notice_due_at else "ask"


def ask(job_id: uuid.UUID, now: datetime) -> bool:
    """True again for a repeated request; False for a job that has ended."""
    jobs = Job.objects.open().filter(pk=job_id)
    with transaction.atomic():
        if jobs.filter(notice_due_at=None).update(notice_due_at=now):
            transitions.record_event(job_id, event=EventName.MAIL_REQUESTED, now=now)
    return jobs.exists()


@transaction.atomic
def take_back(job_id: uuid.UUID, now: datetime) -> bool:
    """False if there was no request, or its email has been sent."""
    requested = Job.objects.filter(pk=job_id, notice_due_at__isnull=False)
    if not requested.update(notice_due_at=None):
        return False
    transitions.record_event(job_id, event=EventName.MAIL_CANCELLED, now=now)
    return True


def wake_due(now: datetime) -> None:
    """One message at a time, for all due emails. If it is lost, its lease expires."""
    if not Job.objects.notice_due(now).exists():
        return
    token = uuid.uuid4()
    ahead = leases.those_ahead(now, DUTY_LASTS)
    sent_by_another = Lease.objects.filter(name=DUTY, until__range=ahead)
    if not sent_by_another.exists() and leases.take_duty(DUTY, token, now, DUTY_LASTS):
        queue.enqueue_notices(token)


def send_due(token: uuid.UUID) -> None:
    """Until nothing is due or the time is over. A server that is away costs one try a minute, of
    one worker."""
    end = time.monotonic() + RUN_LASTS
    while time.monotonic() < end and leases.take_duty(DUTY, token, timezone.now(), DUTY_LASTS):
        now = timezone.now()
        job = Job.objects.notice_due(now).order_by("notice_due_at").first()
        if job is None:
            break
        if send(job, now) is DeliveryResult.UNREACHABLE:
            return
    leases.drop_duty(DUTY, token)


def send(job: Job, now: datetime) -> DeliveryResult | None:
    """None when there was nothing to send, or another process sends it."""
    to = find_address(job)
    if not to:
        Job.objects.filter(pk=job.pk).update(notice_due_at=None)
        return None
    due = Job.objects.notice_due(now).filter(pk=job.pk)
    if not due.update(notified_at=now, notice_due_at=None):
        return None
    job.refresh_from_db()
    fate = mailing.post(message_about(job, to), f"job {job.pk}")
    if fate is not DeliveryResult.POSTED:
        outlast(lambda: _try_later(job, now))
    return fate


def message_about(job: Job, to: str) -> EmailMessage:
    """State, times and address: mail is read on shared screens, so no word of the prompt. The
    address needs PUBLIC_URL and is left out without it."""
    look, words = wording.LOOKS[job.state], kind_of(job).words
    lines = [
        str(words.mail) % {"requested": _moment(job.created_at), "state": look.word},
        _("Ended on %(ended)s.") % {"ended": _moment(job.ended_at or job.changed_at)},
        str(words.mail_reason),
    ]
    if settings.PUBLIC_URL:
        lines.insert(2, settings.PUBLIC_URL + reverse("job", args=[job.pk]))
    return EmailMessage(
        subject=f"{look.word} · Counterfoil",
        body="\n\n".join(lines) + "\n",
        to=[to],
        headers=mailing.headers(f"job.{job.pk}"),
    )


def _moment(at: datetime) -> str:
    return f"{wording.day_in_words(at.date())}, {wording.time_in_words(at)}"


def _try_later(job: Job, now: datetime) -> None:
    again_at = mailing.again_at(job.notice_tries, now)
    if again_at is None:
        log.error("The mail about job %s is given up", job.pk)
    mine = Job.objects.filter(pk=job.pk, notified_at=now)
    mine.update(
        notified_at=None,
        notice_due_at=again_at,
        notice_tries=F("notice_tries") + 1,
    )
