"""Showing a page: the whole of it, or for htmx only the part that changes."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers

from jobs.people.requests import SiteRequest
from jobs.web.htmx import wants_part
from jobs.words.wording import Message

STOP_POLLING = 286


def show(
    request: SiteRequest, page: str, *, part: str, context: dict[str, object], status: int = 200
) -> HttpResponse:
    as_part = wants_part(request)
    template = part if as_part else page
    response = render(request, template, {**context, "as_part": as_part}, status=status)
    patch_vary_headers(response, ("HX-Request", "Cookie"))
    return response


def polled_status(request: SiteRequest, *, goes_on: bool) -> int:
    return 200 if goes_on or not wants_part(request) else STOP_POLLING


def see_other(to: str, *address: object) -> HttpResponse:
    """After a form: the browser asks for that page, and sends nothing again."""
    response = redirect(to, *address)
    response.status_code = 303
    return response


def tell(request: SiteRequest, message: Message) -> None:
    """On the next page, in the message's own tone."""
    messages.info(request, str(message.says), extra_tags=message.tone)
