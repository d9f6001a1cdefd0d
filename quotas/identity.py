"""The name of this database, which keeps two sites on one Redis apart: it is made once, is kept in
the database, and is part of the name of the queue and of the counts of the limiter.

SECRET_KEY alone does not do this: staging is often made from the settings of production.
"""

import secrets
from contextlib import suppress

from django.conf import settings
from django.db import Error

from quotas.models import Site

_known = ""


def read_site_id() -> str:
    """From the database once in each process. Raises a database error."""
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
    """Empty until it was read. Runs no query."""
    return _known


def forget_site_id() -> None:
    """The process goes on with another database."""
    global _known
    _known = ""


def queue_name() -> str:
    """Different for each site on one Redis. Raises a database error."""
    return f"{settings.Q_CLUSTER['name']}-{read_site_id()[:12]}"
