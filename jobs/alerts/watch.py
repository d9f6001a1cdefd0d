"""Open and close the alerts of staff: one check of the rows, each minute.

    ticker ────────┐                     ┌──> open_alert       new, or seen again
                   ├──> look ──> watches ┤
    schedule ──────┘                     └──> close_all_but    what is over

A watch is a pure function: what is wrong at this instant? Ticker and workers both run the check, so
that each reports the silence of the other. A lease lets one of them run it per minute. A trouble
that happens once and does not last stays open for a while: a contradiction for a day, a missed
deadline for an hour.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, F, Min, Q
from django.utils.translation import gettext as _

from jobs import poll_answers
from jobs.alerts import allowances
from jobs.core import heartbeats, leases
from jobs.core.models import Stage, UnreadResult
from jobs.engine import copies
from jobs.ops import smoke
from jobs.pictures import saving
from providers.adapters.registry import fallback_offers, known_names, longest_retention, offers
from providers.calls import money
from providers.calls.models import Call, Gate, SmokeTest
from providers.routing import gates
from quotas import alerts
from quotas.days import utc_day
from quotas.models import Alert, AlertKind, Unmeasured
from quotas.states import BypassReason

log = logging.getLogger(__name__)

DUTY = "alarms"
LOOK_EVERY = timedelta(seconds=50)
DOUBT_LASTS = timedelta(hours=1)
MISSED_LATELY = timedelta(hours=1)
BLOCKED_FOR = timedelta(minutes=5)
OTHER_RUN_LASTS = timedelta(minutes=10)
CONTRADICTION_LASTS = timedelta(days=1)
# A little more than each process takes to tell again.
UNMEASURED_LASTS = timedelta(seconds=150)
# A result that is fetched at all is mostly fetched by the third or fourth try.
SAVED_WITHIN = timedelta(minutes=10)
MOST_TOLD = 100
STEPS = (50, 80, 100)


@dataclass(frozen=True)
class Trouble:
    subject: str
    words: str = ""


Watch = Callable[[datetime], Iterable[Trouble]]


def look_if_due(now: datetime) -> bool:
    """False if another process has checked within the minute."""
    if not leases.take_duty(DUTY, uuid.uuid4(), now, LOOK_EVERY):
        return False
    smoke.conclude(now)
    saving.wake_where_room_is(now)
    look(now)
    return True


def look(now: datetime) -> None:
    """A watch that cannot answer leaves its alerts as they are, and stops no other."""
    for kind, watch in WATCHES.items():
        try:
            found = list(watch(now))
        except DatabaseError:
            raise
        except Exception:
            log.exception("The watch for %s cannot tell", kind)
            continue
        for trouble in found:
            alerts.open_alert(kind=kind, subject=trouble.subject, words=trouble.words, now=now)
        alerts.close_all_but(kind, [trouble.subject for trouble in found], seen_by=now)


def in_doubt_for_long(now: datetime) -> Iterator[Trouble]:
    """From when the answer was due, or the deadline; by provider, however many calls it is."""
    since = now - DOUBT_LASTS
    old = Q(state="accepted", deadline_at__lte=since) | (
        Q(state__in=["unknown", "sending"]) & Q(answer_by__lte=since)
    )
    groups = Call.objects.in_doubt(now).filter(old).values("provider").order_by("provider")
    for group in groups.annotate(many=Count("pk"), oldest=Min("sent_at")):
        words = _("%(many)s calls, the oldest sent %(at)s UTC") % {
            "many": group["many"],
            "at": f"{group['oldest']:%d %b %H:%M}",
        }
        yield Trouble(group["provider"], words)


def missed_deadlines(now: datetime) -> Iterator[Trouble]:
    """Of runs that the provider had taken; ended since, or not."""
    begin = now - MISSED_LATELY
    missed = Call.objects.filter(
        Q(ended_at=None) | Q(ended_at__gt=F("deadline_at")),
        # For the index of a provider's days; the deadline itself has none.
        provider__in=known_names(),
        sent_at__gt=begin - 2 * settings.CALL_DEADLINE,
        sent_at__lte=now,
        deadline_at__gt=begin,
        deadline_at__lte=now,
        accepted_at__lt=F("deadline_at"),
    )
    groups = missed.values("provider").order_by("provider")
    for group in groups.annotate(many=Count("pk")):
        words = _("%(many)s runs took longer than %(minutes)s minutes") % {
            "many": group["many"],
            "minutes": f"{settings.CALL_DEADLINE.total_seconds() / 60:g}",
        }
        yield Trouble(group["provider"], words)


def refused_providers(now: datetime) -> Iterator[Trouble]:
    """Also opened and closed at once by the answer itself (`outcomes.follow_submit`)."""
    for gate in Gate.objects.filter(exhausted_until__isnull=False).order_by("provider"):
        yield Trouble(gate.provider, gate.why)


def blocked_providers(now: datetime) -> Iterator[Trouble]:
    """Pauses that followed each other for minutes (`gates._block`). A pause that has expired, with
    no request since, is not reported. Pauses by staff are not reported either, nor those for the
    key or the balance, which have an alert kind of their own."""
    blocked = Gate.objects.filter(blocked_since__lte=now - BLOCKED_FOR, exhausted_until=None)
    lately = Q(paused_until__gt=now) | Q(since__gt=now - BLOCKED_FOR)
    for gate in blocked.filter(lately).exclude(why=gates.STAFF).order_by("provider", "model"):
        since = f"{gate.blocked_since:%d %b %H:%M}"
        words = _("%(why)s, since %(at)s UTC") % {"why": gate.why, "at": since}
        yield Trouble(str(gate), words)


def answers_about_other_runs(now: datetime) -> Iterator[Trouble]:
    """Opened by the answer itself; over when none has come for a while."""
    lately = Gate.objects.filter(other_run_at__gt=now - OTHER_RUN_LASTS, other_run_at__lte=now)
    for provider in lately.order_by("provider").values_list("provider", flat=True):
        yield Trouble(provider, poll_answers.words_of_other_run())


def old_contradictions(now: datetime) -> Iterator[Trouble]:
    """Opened by the late outcome itself. This only keeps them open for their time."""
    recent = Alert.objects.open().filter(
        kind=AlertKind.CONTRADICTION, opened_at__gt=now - CONTRADICTION_LASTS
    )
    for subject in recent.values_list("subject", flat=True):
        yield Trouble(subject)


def spent_budgets(now: datetime) -> Iterator[Trouble]:
    """All is spent once not even the cheapest picture fits. The day is the provider's own."""
    for name, account in sorted(settings.PROVIDER_ACCOUNTS.items()):
        if account.daily_cap is None:
            continue
        limit, currency = account.daily_cap
        begins, ends = money.day_of(name, now)
        spent = money.spent_between(name, currency, begins, ends)
        asked = [offer for offer in (*offers(), *fallback_offers()) if offer.provider == name]
        full = bool(asked) and all(money.cap_reached(offer, now) for offer in asked)
        share = 100 if full else 100 * spent / limit
        words = _("%(spent)s of %(limit)s %(currency)s spent today") % {
            "spent": _amount(spent),
            "limit": _amount(limit),
            "currency": currency,
        }
        yield from _steps(name, share, words)


def used_allowances(now: datetime) -> Iterator[Trouble]:
    for use in allowances.in_use(now):
        yield from _steps(use.name, use.percent, use.words)


def silent_parts(now: datetime) -> Iterator[Trouble]:
    if heartbeats.is_silent("ticker", now):
        yield Trouble(
            "ticker",
            _("The ticker is not responding. Polling and wake-ups run once a minute at most."),
        )
    if heartbeats.is_silent("worker", now):
        yield Trouble("cluster", _("No worker is responding. New requests wait."))


def smoke_tests(now: datetime) -> Iterator[Trouble]:
    """Of what staff have paused, no test can be good, and none is begun."""
    for name in sorted(smoke.tested_offers().keys() - gates.paused_by_staff()):
        words = smoke.describe_trouble(SmokeTest.objects.find_newest(name), now)
        if words:
            yield Trouble(name, words)


STORE_IS_AWAY = {BypassReason.ERROR, BypassReason.TIMEOUT, BypassReason.INCONSISTENT}


def unmeasured_requests(now: datetime) -> Iterator[Trouble]:
    """The limiter is failing open. Each web process records it once a minute while it lasts."""
    since = now - UNMEASURED_LASTS
    told = (since, now + UNMEASURED_LASTS)
    lately = Unmeasured.objects.filter(day__gte=utc_day(since), last_at__range=told)
    whys = {row.why: row.get_why_display() for row in lately.order_by("why")}
    if whys:
        words = [", ".join(map(str, whys.values()))]
        if whys.keys() & STORE_IS_AWAY:
            words.append(
                _("Until it works again, each web process counts password attempts on its own.")
            )
        yield Trouble("rate limits", ". ".join(map(str, words)))


def running_copy(now: datetime) -> Iterator[Trouble]:
    """Both sites look for themselves, so the staff of both learn of it."""
    if copies.copy_was_seen(now):
        yield Trouble("REDIS_URL", _("Another site is running on a copy of this database."))


def undelivered_results(now: datetime) -> Iterator[Trouble]:
    """Paid for and made: files and answers that staff must look at, then those that nothing could
    fetch for a while. The alert ends with the retention of the result."""
    since = now - longest_retention()
    unread = UnreadResult.objects.filter(resolved_at=None, created_at__gt=since)
    calls = unread.order_by("call").values_list("call__provider", "call").distinct()
    for provider, call_id in calls[:MOST_TOLD]:
        words = _(
            "The result was made, but we cannot read it. Deliver the picture or give the slot back."
        )
        yield Trouble(f"{provider} {call_id}", words)
    late = Stage.objects.unfinished().filter(
        name="save", created_at__lte=now - SAVED_WITHIN, waiting_since=None
    )
    waiting = late.filter(call__unread_results=None).values("call__provider").order_by()
    for group in waiting.annotate(many=Count("pk"), oldest=Min("created_at")):
        words = _("%(many)s results could not be downloaded yet, the oldest since %(at)s UTC") % {
            "many": group["many"],
            "at": f"{group['oldest']:%d %b %H:%M}",
        }
        yield Trouble(group["call__provider"], words)


def full_storage(now: datetime) -> Iterator[Trouble]:
    """Opened at once by the stage that found no room (`jobs.pictures.saving`)."""
    waiting = Stage.objects.unfinished().filter(name="save", waiting_since__isnull=False)
    if waiting.exists():
        yield Trouble("pictures")


WATCHES: dict[AlertKind, Watch] = {
    AlertKind.IN_DOUBT: in_doubt_for_long,
    AlertKind.OVERDUE: missed_deadlines,
    AlertKind.PROVIDER_PAUSED: refused_providers,
    AlertKind.PROVIDER_BLOCKED: blocked_providers,
    AlertKind.OTHER_RUN: answers_about_other_runs,
    AlertKind.CONTRADICTION: old_contradictions,
    AlertKind.SPEND: spent_budgets,
    AlertKind.ALLOWANCE: used_allowances,
    AlertKind.SILENT: silent_parts,
    AlertKind.SMOKE: smoke_tests,
    AlertKind.LIMITER: unmeasured_requests,
    AlertKind.UNREAD: undelivered_results,
    AlertKind.STORAGE: full_storage,
    AlertKind.COPY: running_copy,
}


def _steps(name: str, share: Decimal | float, words: str) -> Iterator[Trouble]:
    for step in STEPS:
        if share >= step:
            yield Trouble(f"{name} {step} %", words)


def _amount(amount: Decimal) -> str:
    return f"{amount:.2f}"
