"""What workers run. A task takes ids and reads the rows again; it may run twice in a row."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone

from jobs import alarm_posts, alarms, engine, heartbeats, housekeeping, notices, smoke, ticker

log = logging.getLogger(__name__)

TIDY_LASTS = 20


def advance(job_id: str) -> None:
    try:
        heartbeats.beat("worker")
        engine.advance(uuid.UUID(job_id))
    except Exception as exc:  # noqa: BLE001  the queue would store its text, prompt and all
        log.error("Job %s was not advanced (%s); it is taken up again", job_id, type(exc).__name__)


def send_notices(duty: str) -> None:
    try:
        heartbeats.beat("worker")
        notices.send_due(uuid.UUID(duty))
    except Exception as exc:  # noqa: BLE001  the queue would store its text, address and all
        log.error("Mail was not sent (%s); it is taken up again", type(exc).__name__)


def probe() -> None:
    heartbeats.beat_now("worker")


def stand_in_for_ticker() -> None:
    """By schedule, each minute: one tick's work, for the case that no ticker lives."""
    heartbeats.beat("worker")
    ticker.tick_once_if_alone()


def look_for_alarms() -> None:
    """By schedule, each minute: the ticker looks too, but may be what is silent."""
    with _scheduled("Alerts"):
        alarms.look_if_due(timezone.now())
        alarm_posts.send_due(timezone.now())


def begin_smoke_tests() -> None:
    """By schedule, each hour: those that are due. Their end is found by the look for alarms."""
    with _scheduled("Smoke tests"):
        smoke.begin_due(timezone.now())


def tidy() -> None:
    """By schedule, each hour, for some seconds; what is left is for the next time."""
    with _scheduled("Old rows and files"):
        housekeeping.tidy_if_due(timezone.now(), seconds=TIDY_LASTS)


@contextmanager
def _scheduled(what: str) -> Iterator[None]:
    try:
        heartbeats.beat("worker")
        yield
    except Exception as exc:  # noqa: BLE001  the queue would store its text, address and all
        log.error("%s were not seen to (%s); the next turn does it", what, type(exc).__name__)
