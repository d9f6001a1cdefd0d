"""The visitor's cookie: a random id, signed, and nothing else."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

COOKIE = "visitor"
COOKIE_SALT = "counterfoil.visitor"
COOKIE_LASTS = 400 * 86400


def known_visitor(request: HttpRequest) -> str:
    """The id that the browser brought; empty where it brought none of ours."""
    return request.get_signed_cookie(COOKIE, default="", salt=COOKIE_SALT) or ""


def remember_visitor(request: HttpRequest, response: HttpResponse, visitor: str) -> None:
    response.set_signed_cookie(
        COOKIE,
        visitor,
        salt=COOKIE_SALT,
        max_age=COOKIE_LASTS,
        httponly=True,
        samesite="Lax",
        secure=is_secure_site(request),
    )


def is_secure_site(request: HttpRequest) -> bool:
    """Also behind a proxy that does not name the scheme: then PUBLIC_URL does."""
    return settings.SESSION_COOKIE_SECURE or request.is_secure()
