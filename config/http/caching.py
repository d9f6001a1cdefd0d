"""What a browser may cache. A page is private: the next user of the same browser must not see it,
neither from the cache nor through the Back button.

`no-store` keeps a page out of the back/forward cache; `Clear-Site-Data` does not. The Back button
never shows a part that htmx requested, since htmx requests it again each time.
"""

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

PAGE = "private, no-store"
PART = "private, no-cache"


@sync_and_async_middleware
def keep_no_page(get_response: Callable):
    """Outermost, so that error pages get the header too. Keeps a header that the view has set."""

    async def later(request: HttpRequest) -> HttpResponse:
        return _with_caching(request, await get_response(request))

    def now(request: HttpRequest) -> HttpResponse:
        return _with_caching(request, get_response(request))

    return later if iscoroutinefunction(get_response) else now


def _with_caching(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if response.headers.get("Content-Type", "").startswith("text/html"):
        response.headers.setdefault("Cache-Control", PART if _is_part(request) else PAGE)
    return response


def _is_part(request: HttpRequest) -> bool:
    asked = request.headers
    return "HX-Request" in asked and "HX-History-Restore-Request" not in asked
