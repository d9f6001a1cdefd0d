"""Light, dark, or as the device has it: a cookie that the server draws, so that nothing flashes."""

from django.http import HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from jobs.people.requests import SiteRequest
from jobs.people.visitors import COOKIE_LASTS, is_secure_site
from jobs.web.context import THEME_COOKIE, THEMES
from jobs.web.views.pages import see_other


@require_POST
def set_theme(request: SiteRequest) -> HttpResponse:
    """Anything but a known theme means as the device has it."""
    response = see_other(_back(request))
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(
            THEME_COOKIE,
            chosen,
            max_age=COOKIE_LASTS,
            httponly=True,
            samesite="Lax",
            secure=is_secure_site(request),
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response


def _back(request: SiteRequest) -> str:
    """Only to a page of this site."""
    address = request.POST.get("next", "")
    is_here = url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_here and address.startswith("/") else "/"
