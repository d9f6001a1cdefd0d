"""Content-Security-Policy for every response: nothing inline, no other origins, no frames."""

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

HEADER = "Content-Security-Policy"
POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


@sync_and_async_middleware
def content_security_policy(get_response: Callable):
    """Outermost, so that errors and files get it too. Keeps a policy that the view has set."""

    async def later(request: HttpRequest) -> HttpResponse:
        return _with_policy(await get_response(request))

    def now(request: HttpRequest) -> HttpResponse:
        return _with_policy(get_response(request))

    return later if iscoroutinefunction(get_response) else now


def _with_policy(response: HttpResponse) -> HttpResponse:
    response.headers.setdefault(HEADER, POLICY)
    return response
