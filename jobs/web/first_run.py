"""Who sees what a new site still lacks (config.checks.hints).

Staff see it, and so does a browser on the machine itself, since a new site has no staff user. No
stranger learns that a site has no staff.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import run_checks

from jobs.people.requests import SiteRequest

LOOPBACK = {"127.0.0.1", "::1"}
LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")


def missing_for(request: SiteRequest) -> list[str]:
    """At most one query, and none for strangers nor for staff."""
    user = request.user
    is_staff = user.is_authenticated and user.is_staff
    if not is_staff and not _is_at_the_machine(request):
        return []
    # Staff are there: who reads this is one of them.
    tags = ["setup"] if is_staff else ["setup", "staff"]
    hints = run_checks(tags=tags, include_deployment_checks=True)
    return [str(hint.msg) for hint in hints]


def _is_at_the_machine(request: SiteRequest) -> bool:
    """A proxy on this machine speaks from loopback too: it forwards, or keeps the public name, or
    needs PUBLIC_URL to be set before any form can be sent through it."""
    public = settings.PUBLIC_URL or "//localhost"
    names = {urlsplit(address).hostname for address in (f"//{request.get_host()}", public)}
    return (
        request.META.get("REMOTE_ADDR") in LOOPBACK
        and names <= LOCAL_NAMES
        and not any(header in request.headers for header in FORWARDED)
    )
