"""Handing work to django-q2. The queue only makes things quick: a message that cannot be sent or
is lost is made good by the due query."""

import logging
import uuid
from functools import partial

from django.db import transaction
from django_q.brokers import get_broker
from django_q.tasks import async_task

log = logging.getLogger(__name__)


def enqueue_after_commit(stage_id: int) -> None:
    transaction.on_commit(partial(enqueue, stage_id), robust=True)


def enqueue(stage_id: int) -> bool:
    return _send("jobs.processes.tasks.advance", stage_id)


def enqueue_probe() -> bool:
    return _send("jobs.processes.tasks.probe")


def enqueue_notices(duty: uuid.UUID) -> bool:
    return _send("jobs.processes.tasks.send_notices", str(duty))


def enqueue_move(account_id: int) -> bool:
    return _send("jobs.processes.tasks.move_jobs", account_id)


def enqueue_removal() -> bool:
    return _send("jobs.processes.tasks.remove_texts")


def waiting() -> int:
    """Messages that no worker took yet; 0 when the queue cannot be read."""
    try:
        return get_broker().queue_size()
    except Exception:  # noqa: BLE001  any broker's any error: the due query goes on without it
        return 0


def _send(task: str, *args: str | int) -> bool:
    try:
        async_task(task, *args)
    except Exception:  # noqa: BLE001  an enqueue that fails must not fail the request
        log.warning("The queue did not take %s; the ticker will find the work.", task)
        return False
    return True
