"""The smoke test of a provider: one small picture, really ordered, generated and saved.

    begin ──> an order of the account `operator`, as by anybody ──> SmokeTest, running
    conclude ──> the job has ended, or the time is over ──> its verdict, once, by compare-and-set

It costs what a picture costs, counts in the day of `operator` and in the provider's cap. A
provider has one running test at a time, whoever asks for it.
"""

import logging
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs.core import leases
from jobs.core.models import Job, Picture
from jobs.core.states import OPEN, JobState
from jobs.core.works import work_of
from jobs.pictures.orders import PictureOrder, new_form_key, order_picture
from jobs.pictures.words import WORDS
from jobs.words import wording
from providers.adapters.registry import Offer, fallback_offers, offers
from providers.calls.models import SmokeTest
from providers.routing import gates
from quotas import accounts
from quotas.ledger import Refused

log = logging.getLogger(__name__)

PROMPT = "A plain grey circle on a white ground"
DUTY = "smoke"
DUTY_LASTS = timedelta(minutes=10)
LASTS = timedelta(minutes=10)
AGAIN_AFTER = timedelta(hours=23)
STALE_AFTER = timedelta(hours=26)

Verdict = tuple[bool, str]


def tested_offers() -> dict[str, Offer]:
    """The first offer of each provider of pictures."""
    found: dict[str, Offer] = {}
    for offer in (*offers(), *fallback_offers()):
        found.setdefault(offer.provider, offer)
    return found


def begin(offer: Offer, now: datetime) -> SmokeTest:
    """The test that runs from here on: the one that was running already, if any."""
    try:
        return _order(offer, now)
    except IntegrityError:
        running = SmokeTest.objects.running().filter(provider=offer.provider).first()
        # None where it has just ended.
        return running or _order(offer, now)


@transaction.atomic
def _order(offer: Offer, now: datetime) -> SmokeTest:
    """Job and test together, or neither."""
    account = accounts.ensure_saved(accounts.account_named(accounts.OPERATOR), now=now)
    order = PictureOrder(prompt=PROMPT, aspect_ratio="1:1", offer=offer)
    job = order_picture(account=account, order=order, form_key=new_form_key(), now=now)
    test = SmokeTest(provider=offer.provider, model=offer.model, began_at=now)
    if isinstance(job, Refused):
        test.ended_at, test.is_good = now, False
        test.words = _("The “operator” account was refused a slot today.")
    else:
        test.work = work_of(job.pk)
    test.save()
    return test


def begin_due(now: datetime) -> list[SmokeTest]:
    """The daily ones, for a schedule that comes oftener; none unless SMOKE_DAILY, nor of a provider
    that staff have paused."""
    if not settings.SMOKE_DAILY or not leases.take_duty(DUTY, uuid.uuid4(), now, DUTY_LASTS):
        return []
    lately = SmokeTest.objects.filter(began_at__gt=now - AGAIN_AFTER)
    left_out = set(lately.values_list("provider", flat=True)) | gates.paused_by_staff()
    return [begin(offer, now) for name, offer in tested_offers().items() if name not in left_out]


def conclude(now: datetime) -> None:
    """One that cannot be judged stops no other, nor the look for alerts that comes after it."""
    for test in SmokeTest.objects.running():
        try:
            conclude_one(test, now)
        except DatabaseError:
            raise
        except Exception:
            log.exception("The smoke test of %s cannot be judged", test.provider)


def conclude_one(test: SmokeTest, now: datetime) -> bool:
    """False while it runs, or when another has written the verdict."""
    found = _verdict(test, now)
    if found is None:
        return False
    is_good, words = found
    running = SmokeTest.objects.running().filter(pk=test.pk)
    return running.update(ended_at=now, is_good=is_good, words=words[:300]) == 1


def trouble_of(test: SmokeTest | None, now: datetime) -> str:
    """What is wrong by the newest test, or the empty string. Before the first there is nothing to
    tell."""
    if test is None:
        return ""
    if not test.is_good:
        return test.words
    if settings.SMOKE_DAILY and test.began_at <= now - STALE_AFTER:
        return _("The last test was at %(at)s UTC.") % {"at": f"{test.began_at:%d %b %H:%M}"}
    return ""


def _verdict(test: SmokeTest, now: datetime) -> Verdict | None:
    job = Job.objects.of_work(test.work).first()
    if job is None:
        return False, _("The job of the test no longer exists.")
    if job.state == JobState.READY:
        return _verdict_on_picture(test, job)
    if job.state not in OPEN:
        return False, _in_words(job)
    if now >= test.began_at + LASTS:
        minutes = LASTS.total_seconds() / 60
        return False, _("No picture after %(minutes)d minutes.") % {"minutes": minutes}
    return None


def _verdict_on_picture(test: SmokeTest, job: Job) -> Verdict:
    makers = Picture.objects.filter(job=job).values_list("call__provider", flat=True)
    if test.provider in makers or job.result_deleted_at:
        return True, ""
    return False, _("This provider did not make the picture. A fallback did.")


def _in_words(job: Job) -> str:
    if job.state == JobState.FAILED:
        return WORDS.reason_in_words(job.reason)
    return str(wording.LOOKS[job.state].word)
