"""Ignores cookies that this site cannot have set, and removes them from the browser.

A quoted cookie may hold octal escapes and so control characters. PostgreSQL accepts no NUL in text,
and the session is looked up before anything else.
"""

import re
from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

SESSION_KEY = re.compile(r"[a-z0-9]{1,40}")
NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@sync_and_async_middleware
def usable_cookies(get_response: Callable):
    async def later(request: HttpRequest) -> HttpResponseBase:
        dropped = _drop_unusable(request)
        return _remove(dropped, await get_response(request))

    def now(request: HttpRequest) -> HttpResponseBase:
        dropped = _drop_unusable(request)
        return _remove(dropped, get_response(request))

    return later if iscoroutinefunction(get_response) else now


def _drop_unusable(request: HttpRequest) -> list[str]:
    unusable = [name for name, value in request.COOKIES.items() if not _is_usable(name, value)]
    for name in unusable:
        del request.COOKIES[name]
    return unusable


def _is_usable(name: str, value: str) -> bool:
    if name == settings.SESSION_COOKIE_NAME:
        return bool(SESSION_KEY.fullmatch(value))
    return not CONTROL.search(value)


def _remove(names: list[str], response: HttpResponseBase) -> HttpResponseBase:
    """Keeps a new cookie that the response sets. A cookie name that is not a token cannot be used
    in a response, and the site has none."""
    for name in names:
        if NAME.fullmatch(name) and name not in response.cookies:
            response.delete_cookie(name, samesite="Lax")
    return response
