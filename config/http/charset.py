"""Text is read as UTF-8, which is all that pages of this site send.

A request may name another charset, and `utf-7` lets half a character through, which neither a
database nor a page takes.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def utf8_alone(get_response: Callable[[HttpRequest], HttpResponse]):
    def middleware(request: HttpRequest) -> HttpResponse:
        if request.encoding:
            request.encoding = "utf-8"
        return get_response(request)

    return middleware
