"""Rate-limit responses, shown on the page that was used, with the input kept.

The browser never retries a refused request without the user. htmx swaps the refusal in where the
form is, or into the messages if the request was not one of our forms. Any other POST is shown again
with a button that repeats it.
"""

import math

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.kinds import order_page_at
from jobs.people.requests import SiteRequest
from jobs.web.htmx import wants_part
from jobs.web.limits import UNREADABLE, endpoint_of
from jobs.web.views.pages import show
from jobs.web.views.sign_in import SignInForm
from quotas.ratelimit.limiter import Limited

STATUS = 429
BUSY_SECONDS = 5
# A field with one of these in its name is never sent back in a page.
SECRET = ("password", "secret", "token", "code")


def limited_page(request: SiteRequest, limited: Limited) -> HttpResponse:
    # Refuse an unreadable body like any other, with no input to keep.
    try:
        request.POST  # noqa: B018
    except UNREADABLE:
        request.POST = QueryDict()
    return _dated(_page(request, limited_in_words(limited.seconds)), limited.seconds)


def bare_limited_page(request: SiteRequest, limited: Limited) -> HttpResponse:
    """Shows no input: the request has not been verified as one of our forms."""
    page = _whole_page(request, limited_in_words(limited.seconds), posted=None)
    return _dated(page, limited.seconds)


def busy_page(request: SiteRequest) -> HttpResponse:
    """No turn to check a password, the same for known and unknown names."""
    says = _("Too many people are signing in at the moment. Try again in a few seconds.")
    response = _dated(_page(request, says), BUSY_SECONDS)
    response.status_code = 503
    # Django would log each as an error.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def _dated(response: HttpResponse, seconds: int) -> HttpResponse:
    response["Retry-After"] = str(seconds)
    return response


def limited_in_words(seconds: int) -> str:
    if seconds <= 90:
        return _("Too many requests. Try again in %(seconds)s seconds.") % {"seconds": seconds}
    minutes = math.ceil(seconds / 60)
    return ngettext(
        "Too many requests. Try again in %(minutes)s minute.",
        "Too many requests. Try again in %(minutes)s minutes.",
        minutes,
    ) % {"minutes": minutes}


def _page(request: SiteRequest, says: str) -> HttpResponse:
    is_post = request.method == "POST"
    if is_post and (order := order_page_at(request.path)):
        context: dict[str, object] = {"form": order.form(request.POST), "refused": says}
        return show(request, order.page, part=order.part, context=context, status=STATUS)
    if is_post and request.path == reverse("sign_in"):
        return _sign_in(request, says)
    if wants_part(request):
        response = render(request, "ui/_limited.html", {"says": says}, status=STATUS)
        # The admin's pages have no such place.
        if not endpoint_of(request).startswith("admin:"):
            response["HX-Retarget"] = ".messages"
            response["HX-Reswap"] = "innerHTML"
        return response
    return _whole_page(request, says, posted=_posted(request) if is_post else None)


def _sign_in(request: SiteRequest, says: str) -> HttpResponse:
    """The form is not bound: to check it would be to try the password."""
    form = SignInForm(request, initial={"username": request.POST.get("username", "")})
    del form.fields["username"].widget.attrs["autofocus"]
    context = {"form": form, "refused": says, "next": request.POST.get("next", "")}
    return render(request, "sign_in.html", context, status=STATUS)


def _whole_page(
    request: SiteRequest, says: str, *, posted: list[tuple[str, str]] | None
) -> HttpResponse:
    context = {
        "title": _("Too many requests"),
        "says": says,
        "again": request.get_full_path(),
        "posted": posted,
    }
    return render(request, "limited.html", context, status=STATUS)


def _posted(request: SiteRequest) -> list[tuple[str, str]]:
    """What was typed, but no secret."""
    return [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if not any(word in name.casefold() for word in SECRET)
    ]
