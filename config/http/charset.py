"""Decodes all text as UTF-8, the only charset that the site's pages send.

A request may name another charset. `utf-7` can decode to a lone surrogate, which neither a database
nor a page can hold.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def utf8_alone(get_response: Callable[[HttpRequest], HttpResponse]):
    def middleware(request: HttpRequest) -> HttpResponse:
        if request.encoding:
            request.encoding = "utf-8"
        return get_response(request)

    return middleware
