"""Identify the visitor by a random id in a signed cookie. A page view writes no row.

Signing in retires the id and moves its jobs to the user. Signing out starts a new one, so that the
next person at a shared machine does not see the last person's jobs.
"""

from collections.abc import Callable

from django.contrib.auth import user_logged_in, user_logged_out
from django.contrib.auth.models import User
from django.dispatch import receiver
from django.http import HttpResponse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from jobs.people.passwords import TooManyPasswords
from jobs.people.requests import SiteRequest
from jobs.people.sign_in import bring_along
from jobs.people.visitors import known_visitor, remember_visitor
from jobs.web.limits import endpoint_of, list_windows
from jobs.web.views.limited import bare_limited_page, busy_page, limited_page
from quotas import accounts
from quotas.models import Account
from quotas.ratelimit.limiter import limiter


def visitor(get_response: Callable[[SiteRequest], HttpResponse]):
    def middleware(request: SiteRequest) -> HttpResponse:
        known = known_visitor(request)
        _become(request, known or accounts.new_visitor())
        response = get_response(request)
        if _is_to_be_told(request, known):
            remember_visitor(request, response, request.visitor)
        return response

    return middleware


class RateLimits:
    """Counts every request that gets as far as this, also with a foreign form or to nowhere.
    The answer waits until the form's token was checked: only then is what it holds shown."""

    def __init__(self, get_response: Callable[[SiteRequest], HttpResponse]) -> None:
        self.get_response = get_response
        # Before a crowd asks for it at once, and each makes one.
        limiter()

    def __call__(self, request: SiteRequest) -> HttpResponse:
        limited = limiter().check(list_windows(request))
        if limited and not endpoint_of(request):
            return bare_limited_page(request, limited)
        request.limited = limited
        return self.get_response(request)

    def process_view(self, request: SiteRequest, *args: object) -> HttpResponse | None:
        limited = request.limited
        return limited_page(request, limited) if limited else None

    def process_exception(self, request: SiteRequest, exception: Exception) -> HttpResponse | None:
        return busy_page(request) if isinstance(exception, TooManyPasswords) else None


@receiver(user_logged_in)
def follow_sign_in(request: SiteRequest, user: User, **kwargs: object) -> None:
    """Runs before the session belongs to the user: if the process dies here, the sign-in has not
    happened."""
    known = known_visitor(request)
    if known:
        bring_along(visitor=known, user=user, now=timezone.now())
        _become(request, accounts.new_visitor())


@receiver(user_logged_out)
def follow_sign_out(request: SiteRequest, **kwargs: object) -> None:
    _become(request, accounts.new_visitor())


def _become(request: SiteRequest, visitor: str) -> None:
    request.visitor = visitor
    request.account = SimpleLazyObject(lambda: _account_of(request))  # type: ignore[assignment]


def _is_to_be_told(request: SiteRequest, known: str) -> bool:
    """An id that was spent is replaced everywhere; a first one is given by pages only."""
    is_page = not request.path.startswith(("/static/", "/admin/", "/hooks/"))
    return request.visitor != known and (is_page or bool(known))


def _account_of(request: SiteRequest) -> Account:
    """A closed account is not shown. A form that was opened with it is refused by its view."""
    if request.user.is_authenticated:
        return accounts.account_of_user(request.user)
    account = accounts.account_of_visitor(request.visitor)
    if account.closed_at is None:
        return account
    request.visitor = accounts.new_visitor()
    if request.method in ("GET", "HEAD"):
        return accounts.account_of_visitor(request.visitor)
    return account
