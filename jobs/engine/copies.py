"""Notices a copy of this site's database at work on the same queue, such as staging that was
restored from production.

The ticker leaves a new random sign in Redis every SIGN_EVERY seconds, under the name of the queue,
and writes it down in the database first. A sign there that this database does not know was left by
another one with the same name. After a restore the last sign of the lost past is there too, but it
does not change: only a sign that changes proves a site that runs.
"""

import logging
import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from quotas.identity import queue_name
from quotas.models import Site

log = logging.getLogger(__name__)

SIGN_EVERY = 2.0
SIGN_LASTS = 10
REST_AFTER_FAILURE = 30.0
ANSWER_WITHIN = 1.0
SEEN_LATELY = timedelta(minutes=2)


class Signs:
    """This site's signs of life. For one process a database: the ticker that has the duty."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due_at = 0.0
        self._foreign = 0

    def leave_if_due(self, now: datetime) -> None:
        if not settings.REDIS_URL or self._clock() < self._due_at:
            return
        self._due_at = self._clock() + SIGN_EVERY
        try:
            # The last sign was left by another database if this one does not know it.
            known = Site.objects.values_list("sign", "next_sign").first() or ("", "")
            sign = secrets.token_hex(16)
            with _open_redis() as client:
                Site.objects.update(next_sign=sign)
                last, _ = client.pipeline().get(_key()).set(_key(), sign, ex=SIGN_LASTS).execute()
            Site.objects.update(sign=sign)
            found_foreign = last is not None and last not in known
        except redis.RedisError:
            self._due_at = self._clock() + REST_AFTER_FAILURE
            return
        self._foreign = self._foreign + 1 if found_foreign else 0
        # A single one may be the last sign of the past that a restored database has lost.
        if self._foreign >= 2:
            Site.objects.update(copy_seen_at=now)
        if self._foreign == 2:
            log.error("Another site with a copy of this database works on the same REDIS_URL.")


def copy_is_running() -> bool:
    """Whether a copy of this database has a ticker at work. Waits for up to three signs where it
    finds one that this database does not know. Raises an error of Redis."""
    with _open_redis() as client:
        first = _read_sign(client)
        if first is None or _is_ours(first):
            return False
        end = time.monotonic() + 3 * SIGN_EVERY
        while time.monotonic() < end:
            time.sleep(0.1)
            sign = _read_sign(client)
            if sign != first:
                return sign is not None and not _is_ours(sign)
        client.delete(_key())
    return False


def copy_was_seen(now: datetime) -> bool:
    return Site.objects.filter(copy_seen_at__gt=now - SEEN_LATELY).exists()


def _is_ours(sign: str) -> bool:
    return Site.objects.filter(sign=sign).exists() or Site.objects.filter(next_sign=sign).exists()


def _read_sign(client: redis.Redis) -> str | None:
    sign = client.get(_key())
    return None if sign is None else str(sign)


def _key() -> str:
    return f"{queue_name()}:sign"


def _open_redis() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=ANSWER_WITHIN,
        socket_connect_timeout=ANSWER_WITHIN,
        decode_responses=True,
        # The ticker must not wait for tries that follow each other more and more slowly.
        retry=Retry(NoBackoff(), 0),
    )
