"""What the middleware adds to a request."""

from typing import Protocol

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from jobs.people.snapshots import Snapshot
from quotas.models import Account
from quotas.ratelimit.limiter import Limited


class SessionUser(Protocol):
    """`read_at` is when the rows of session and user were read, in ms; 0 if they were not."""

    snapshot: Snapshot | None
    read_at: int


class SiteRequest(HttpRequest):
    """For annotations only: Django makes requests of its own class."""

    visitor: str
    """The random id of the browser."""
    account: Account
    session_user: SessionUser
    limited: Limited | None
    """The limit that the request is over."""
    htmx: HtmxDetails
