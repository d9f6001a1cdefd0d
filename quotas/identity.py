"""The id of this database, which keeps two sites on one Redis apart. It is created once, stored in
the database, and part of the queue's name and of the rate limiter's keys.

SECRET_KEY is not enough, because a staging site is often copied from production settings.
"""

import secrets
from contextlib import suppress

from django.conf import settings
from django.db import Error

from quotas.models import Site

_known = ""


def read_site_id() -> str:
    """Read from the database once per process. Raises a database error."""
    global _known
    if not _known:
        site, _ = Site.objects.get_or_create(pk=1, defaults={"name": secrets.token_hex(16)})
        _known = site.name
    return _known


def learn_site_id() -> None:
    """For callers that must go on without a database; the next call tries again."""
    with suppress(Error):
        read_site_id()


def known_site_id() -> str:
    """Empty until it has been read. Runs no query."""
    return _known


def forget_site_id() -> None:
    """For a process that continues with another database."""
    global _known
    _known = ""


def queue_name() -> str:
    """Different for each site on one Redis. Raises a database error."""
    return f"{settings.Q_CLUSTER['name']}-{read_site_id()[:12]}"
