"""django-q2's queue: in Redis under a name of this database's own, or in the database."""

import logging

from django.db import DatabaseError, connection
from django_q.brokers.orm import ORM
from django_q.brokers.redis_broker import Redis

from quotas.identity import queue_name

log = logging.getLogger(__name__)


class SiteQueue(Redis):
    def __init__(self, list_key: str | None = None) -> None:
        super().__init__(list_key=queue_name())


class DatabaseQueue(ORM):
    def acknowledge(self, task_id: int) -> None:
        """An error here would end the cluster's monitor. The message stays in the queue instead,
        and the task is run again, which every task allows."""
        try:
            self.delete(task_id)
        except DatabaseError as exc:
            log.warning("A message could not be acknowledged (%s)", type(exc).__name__)
            connection.close()
