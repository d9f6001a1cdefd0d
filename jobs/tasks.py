"""What workers run. A task takes ids and reads the rows again; it may run twice in a row."""

import logging
import uuid

from jobs import engine, heartbeats, notices, ticker

log = logging.getLogger(__name__)


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
