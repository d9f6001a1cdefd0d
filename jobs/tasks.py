"""What workers run. A task takes ids and reads the rows again; it may run twice in a row."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.utils import timezone

from jobs import engine, heartbeats, housekeeping, queue, smoke, ticker
from jobs.people import removal, sign_in
from jobs.telling import alarm_posts, alarms, notices

log = logging.getLogger(__name__)

TIDY_LASTS = 20
MOVE_LASTS = 20


def advance(job_id: str) -> None:
    with _to_the_end(f"Job {job_id} was not advanced"):
        engine.advance(uuid.UUID(job_id))


def send_notices(duty: str) -> None:
    with _to_the_end("Mail was not sent"):
        notices.send_due(uuid.UUID(duty))


def move_jobs(account_id: int) -> None:
    """What a sign-in left on the visitor's account."""
    with _to_the_end(f"Jobs were not moved to account {account_id}"):
        if sign_in.continue_move(account_id, timezone.now(), seconds=MOVE_LASTS):
            queue.enqueue_move(account_id)


def remove_texts() -> None:
    """What former people left, after staff asked for its removal."""
    with _to_the_end("What a former person left was not removed"):
        if removal.run(timezone.now(), seconds=MOVE_LASTS):
            queue.enqueue_removal()


def probe() -> None:
    heartbeats.beat_now("worker")


def stand_in_for_ticker() -> None:
    """By schedule, each minute: one tick's work, for the case that no ticker lives."""
    heartbeats.beat("worker")
    ticker.tick_once_if_alone()


def look_for_alarms() -> None:
    """By schedule, each minute: the ticker looks too, but may be what is silent."""
    with _to_the_end("Alerts were not looked for"):
        alarms.look_if_due(timezone.now())
        alarm_posts.send_due(timezone.now())


def begin_smoke_tests() -> None:
    """By schedule, each hour: those that are due. Their end is found by the look for alarms."""
    with _to_the_end("Smoke tests were not begun"):
        smoke.begin_due(timezone.now())


def tidy() -> None:
    """By schedule, each hour, for some seconds; what is left is for the next time."""
    with _to_the_end("Old rows and files were not removed"):
        housekeeping.tidy_if_due(timezone.now(), seconds=TIDY_LASTS)


@contextmanager
def _to_the_end(complaint: str) -> Iterator[None]:
    """Whatever happens the task has ended well for the queue: what it left is found again."""
    try:
        heartbeats.beat("worker")
        yield
    except Exception as exc:  # noqa: BLE001  the queue would store its text, prompt and all
        log.error("%s (%s); it is done later", complaint, type(exc).__name__)
