"""What the operator of a young site has still to do, and who is told.

Staff are told, and whoever sits at the machine itself: before there is a staff user nobody could
be. No stranger learns that a site has no staff.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _

from jobs.people.requests import SiteRequest
from providers.adapters.registry import has_key, list_key_settings, offers

LOOPBACK = {"127.0.0.1", "::1"}
LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")


def missing_for(request: SiteRequest) -> list[str]:
    """At most one query, and none for strangers nor for staff."""
    user = request.user
    is_staff = user.is_authenticated and user.is_staff
    if not is_staff and not _is_at_the_machine(request):
        return []
    says = []
    if not offers():
        says.append(_("No model is offered: name one in IMAGE_MODELS and start again."))
    elif not has_key():
        says.append(
            _(
                "No provider key is set, so the site makes test pictures only. For real "
                "pictures, set %(names)s in .env and restart the site."
            )
            % {"names": " or ".join(list_key_settings())}
        )
    if not is_staff and not _has_staff():
        says.append(
            _(
                "There is no staff account yet. To create one, run “python manage.py "
                "createsuperuser”."
            )
        )
    return says


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


def _has_staff() -> bool:
    return get_user_model().objects.filter(is_staff=True, is_active=True).exists()
