"""Who is asking: a visitor is a random id in a signed cookie; no row is written for a page view."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from quotas import accounts
from quotas.models import Account

COOKIE = "visitor"
COOKIE_SALT = "counterfoil.visitor"
COOKIE_LASTS = 400 * 86400


def visitor(get_response: Callable[[HttpRequest], HttpResponse]):
    def middleware(request: HttpRequest) -> HttpResponse:
        known = request.get_signed_cookie(COOKIE, default="", salt=COOKIE_SALT)
        request.visitor = known or secrets.token_urlsafe(24)  # type: ignore[attr-defined]
        request.account = SimpleLazyObject(lambda: _account_of(request))  # type: ignore[attr-defined]
        response = get_response(request)
        if not known and not request.path.startswith(("/static/", "/admin/")):
            response.set_signed_cookie(
                COOKIE,
                request.visitor,  # type: ignore[attr-defined]
                salt=COOKIE_SALT,
                max_age=COOKIE_LASTS,
                httponly=True,
                samesite="Lax",
                secure=request.is_secure(),
            )
        return response

    return middleware


def _account_of(request: HttpRequest) -> Account:
    if request.user.is_authenticated:
        return accounts.account_of_user(request.user)
    return accounts.account_of_visitor(request.visitor)  # type: ignore[attr-defined]
