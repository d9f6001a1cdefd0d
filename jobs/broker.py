"""The queue in Redis, under a name of this database's own (`quotas/identity.py`)."""

from django_q.brokers.redis_broker import Redis

from quotas.identity import queue_name


class SiteQueue(Redis):
    def __init__(self, list_key: str | None = None) -> None:
        super().__init__(list_key=queue_name())
