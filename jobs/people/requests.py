"""What the middleware adds to a request."""

from typing import TYPE_CHECKING

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from quotas.models import Account
from quotas.ratelimit.limiter import Limited

if TYPE_CHECKING:
    from jobs.people.session_cache import RequestUser


class SiteRequest(HttpRequest):
    """For annotations only: Django makes requests of its own class."""

    visitor: str
    """The random id of the browser."""
    account: Account
    session_user: "RequestUser"
    limited: Limited | None
    """The limit that the request is over."""
    htmx: HtmxDetails
