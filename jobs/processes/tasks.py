"""What workers run. A task takes ids and reads the rows again; it may run twice in a row."""

import logging
import uuid
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from django.utils import timezone

from jobs.alerts import alert_delivery, watch
from jobs.core import heartbeats, queue
from jobs.engine import advance as engine
from jobs.notifications import notices
from jobs.ops import housekeeping, smoke
from jobs.people import removal, sign_in
from jobs.processes import ticker

log = logging.getLogger(__name__)

TIDY_LASTS = 20
MOVE_LASTS = 20

P = ParamSpec("P")


def ends_well(task: Callable[P, None]) -> Callable[P, None]:
    """The queue sees no error of a task: it would store the text, prompt and all. Work that was
    left is found again."""

    @wraps(task)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            heartbeats.beat("worker")
            task(*args, **kwargs)
        except Exception as exc:  # noqa: BLE001
            log.error("%s%s failed (%s); it is done later", task.__name__, args, type(exc).__name__)

    return run


@ends_well
def advance(stage_id: int | str) -> None:
    # Version 0.1.0 sent the job's id: its stages are found again by the due query.
    if isinstance(stage_id, int):
        engine.advance(stage_id)


@ends_well
def send_notices(duty: str) -> None:
    notices.send_due(uuid.UUID(duty))


@ends_well
def move_jobs(account_id: int) -> None:
    """What a sign-in left on the visitor's account."""
    if sign_in.continue_move(account_id, timezone.now(), seconds=MOVE_LASTS):
        queue.enqueue_move(account_id)


@ends_well
def remove_texts() -> None:
    """Texts and pictures of former users, after staff requested their removal."""
    if removal.run(timezone.now(), seconds=MOVE_LASTS):
        queue.enqueue_removal()


@ends_well
def probe() -> None:
    heartbeats.beat_now("worker")


@ends_well
def stand_in_for_ticker() -> None:
    """By schedule, each minute: one tick's work, for the case that no ticker lives."""
    ticker.tick_once_if_alone()


@ends_well
def look_for_alarms() -> None:
    """By schedule, each minute: the ticker looks too, but may be what is silent."""
    watch.look_if_due(timezone.now())
    alert_delivery.send_due(timezone.now())


@ends_well
def begin_smoke_tests() -> None:
    """By schedule, each hour: those that are due. Their end is found by the look for alarms."""
    smoke.begin_due(timezone.now())


@ends_well
def tidy() -> None:
    """By schedule, each hour, for some seconds; what is left is for the next time."""
    housekeeping.tidy_if_due(timezone.now(), seconds=TIDY_LASTS)
