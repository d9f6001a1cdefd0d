"""Signs of life in rows of our own: who serves the queue, and whether the ticker ticks.

The ticker puts a probe into the queue; any task a worker runs counts as its answer.
"""

import time
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone

from jobs.core import leases, queue
from jobs.core.models import Heartbeat, Stage

TICKER_SILENT_AFTER = timedelta(seconds=15)
TOLD_AFTER = timedelta(minutes=1)
"""Staff are alerted after a longer silence than this. A restart takes some seconds."""
CLOCKS_DIFFER = timedelta(minutes=5)
"""Between machines. A beat further ahead was made before a clock was set back: it is void."""

_beaten = {"worker": float("-inf"), "ticker": float("-inf")}


def beat(name: str) -> None:
    """Written at most once a second by each process."""
    if time.monotonic() - _beaten[name] >= 1:
        beat_now(name)


def beat_now(name: str) -> None:
    _beaten[name] = time.monotonic()
    now = timezone.now()
    if not Heartbeat.objects.filter(name=name).update(beat_at=now):
        Heartbeat.objects.get_or_create(name=name, defaults={"beat_at": now})


def ask_cluster(now: datetime) -> None:
    """Put a probe into the queue, unless a recent one is still unanswered."""
    row, _ = Heartbeat.objects.get_or_create(name="worker")
    if any(at and at - now > CLOCKS_DIFFER for at in (row.asked_at, row.beat_at)):
        row.asked_at = row.beat_at = None
        row.save()
    open_since = row.asked_at if not _answered(row) else None
    again = settings.PROBE_TIMEOUT * 2 if open_since else settings.PROBE_EVERY
    if row.asked_at and now - row.asked_at < timedelta(seconds=again):
        return
    if queue.enqueue_probe():
        unanswered = Q(beat_at__isnull=True) | Q(beat_at__lt=F("asked_at"))
        asked = Heartbeat.objects.filter(name="worker")
        if not asked.filter(unanswered, asked_at__isnull=False).exists():
            asked.update(asked_at=now)


def cluster_is_wedged(now: datetime) -> bool:
    """A probe went unanswered although a worker was free to answer it."""
    row = Heartbeat.objects.filter(name="worker").first()
    if row is None or row.asked_at is None or _answered(row):
        return False
    overdue = now - row.asked_at > timedelta(seconds=settings.PROBE_TIMEOUT)
    return overdue and leases.busy_workers() < settings.WORKERS


def forget_probe() -> None:
    """A new cluster was started, so the probe sent to the old one is void."""
    Heartbeat.objects.filter(name="worker").update(asked_at=None)


def ticker_is_beating() -> bool:
    """Whether one beats while we look. Its last beat may be of the time that a restored database
    is of."""
    beat_at = _beat_of("ticker")
    if not says_alive("ticker", beat_at, timezone.now()):
        return False
    time.sleep(3)
    return _beat_of("ticker") != beat_at


def cluster_is_alive(now: datetime) -> bool:
    return says_alive("worker", _beat_of("worker"), now)


def ticker_is_alive(now: datetime) -> bool:
    return says_alive("ticker", _beat_of("ticker"), now)


def is_silent(name: str, now: datetime) -> bool:
    """Silent for long enough to alert staff. Workers that hold a stage are at work."""
    if _beat_within(_beat_of(name), TOLD_AFTER, now):
        return False
    return name == "ticker" or not Stage.objects.leased(now).exists()


def site_moves(now: datetime) -> bool:
    """One query for a page; two without an answer, because all workers may be busy sending."""
    beats = dict(Heartbeat.objects.values_list("name", "beat_at"))
    if not says_alive("ticker", beats.get("ticker"), now):
        return False
    if says_alive("worker", beats.get("worker"), now):
        return True
    return Stage.objects.leased(now).exists()


def says_alive(name: str, beat_at: datetime | None, now: datetime) -> bool:
    """Whether a beat at that instant is a sign that it lives now."""
    cluster_silent_after = settings.PROBE_TIMEOUT + 2 * settings.PROBE_EVERY + 5
    is_ticker = name == "ticker"
    limit = TICKER_SILENT_AFTER if is_ticker else timedelta(seconds=cluster_silent_after)
    return _beat_within(beat_at, limit, now)


def _beat_of(name: str) -> datetime | None:
    return Heartbeat.objects.filter(name=name).values_list("beat_at", flat=True).first()


def _beat_within(beat_at: datetime | None, limit: timedelta, now: datetime) -> bool:
    return bool(beat_at and -CLOCKS_DIFFER < now - beat_at < limit)


def _answered(row: Heartbeat) -> bool:
    return bool(row.asked_at and row.beat_at and row.beat_at >= row.asked_at)
