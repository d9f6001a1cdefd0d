"""The smoke test of a provider: one small job of some kind, really ordered and executed.

    begin ──> an order of the account `operator`, as by anybody ──> SmokeTest, running
    conclude ──> the job has ended, or the time is over ──> its verdict, once, by compare-and-set

It costs what such a job costs, counts in the day of `operator` and in the provider's cap. A
provider has one running test at a time, by whichever process.
"""

import logging
import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, IntegrityError, transaction
from django.utils.translation import gettext as _

from jobs.core import leases
from jobs.core.models import Job
from jobs.core.states import OPEN, JobState
from jobs.kinds import KINDS, Kind, kind_of
from jobs.words import wording
from providers.adapters.registry import Offer
from providers.calls.models import SmokeTest
from providers.routing import gates
from quotas import accounts
from quotas.ledger import Refused

log = logging.getLogger(__name__)

DUTY = "smoke"
DUTY_LASTS = timedelta(minutes=10)
LASTS = timedelta(minutes=10)
AGAIN_AFTER = timedelta(hours=23)
STALE_AFTER = timedelta(hours=26)

Verdict = tuple[bool, str]


def tested_offers() -> dict[str, tuple[Kind, Offer]]:
    """By provider: what is ordered from it first, by the first kind that orders from it."""
    found: dict[str, tuple[Kind, Offer]] = {}
    for kind in KINDS.values():
        for offer in kind.smoke.offers():
            found.setdefault(offer.provider, (kind, offer))
    return found


def begin(kind: Kind, offer: Offer, now: datetime) -> SmokeTest:
    """The test that runs from here on: the one that was running already, if any."""
    try:
        return _order(kind, offer, now)
    except IntegrityError:
        running = SmokeTest.objects.running().filter(provider=offer.provider).first()
        # None where it has just ended.
        return running or _order(kind, offer, now)


@transaction.atomic
def _order(kind: Kind, offer: Offer, now: datetime) -> SmokeTest:
    """Job and test together, or neither."""
    account = accounts.ensure_saved(accounts.account_named(accounts.OPERATOR), now=now)
    job = kind.smoke.order(account, offer, now)
    test = SmokeTest(provider=offer.provider, model=offer.model, began_at=now)
    if isinstance(job, Refused):
        test.ended_at, test.is_good = now, False
        test.words = _("The “operator” account was refused a slot today.")
    else:
        works = job.stages.exclude(work=None).order_by("pk")
        test.work = works.values_list("work", flat=True).first() or ""
    test.save()
    return test


def begin_due(now: datetime) -> list[SmokeTest]:
    """The daily ones, for a schedule that comes oftener; none unless SMOKE_DAILY, nor of a provider
    that staff have paused."""
    if not settings.SMOKE_DAILY or not leases.take_duty(DUTY, uuid.uuid4(), now, DUTY_LASTS):
        return []
    lately = SmokeTest.objects.filter(began_at__gt=now - AGAIN_AFTER)
    left_out = set(lately.values_list("provider", flat=True)) | gates.paused_by_staff()
    return [
        begin(kind, offer, now)
        for name, (kind, offer) in tested_offers().items()
        if name not in left_out
    ]


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


def describe_trouble(test: SmokeTest | None, now: datetime) -> str:
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
        why_bad = kind_of(job).smoke.why_bad(job, test.provider)
        return not why_bad, why_bad
    if job.state not in OPEN:
        return False, _in_words(job)
    if now >= test.began_at + LASTS:
        minutes = LASTS.total_seconds() / 60
        return False, _("No result after %(minutes)d minutes.") % {"minutes": minutes}
    return None


def _in_words(job: Job) -> str:
    if job.state == JobState.FAILED:
        return kind_of(job).words.reason_in_words(job.reason)
    return str(wording.LOOKS[job.state].word)
