"""Cache who is signed in: the rows are read at most once a minute per browser.

    GET or HEAD of a page in TRUSTING ──> the snapshot, if it is trusted: no query
    everything else, and all forms    ──> session and user, from their rows

A ban, a new password or a new role takes effect within that minute everywhere. In the browser that
made the change it takes effect at once: the response to a form sets the time of the change, and no
older snapshot is trusted there. A snapshot is issued when the rows were read and the browser has no
equally good one, and deleted when the rows show that no user is signed in.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.models import Session
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from jobs.people import snapshots
from jobs.people.requests import SiteRequest
from jobs.people.snapshots import ACTED_COOKIE, ACTED_LASTS, COOKIE, Snapshot
from quotas.models import Account

# Pages that only show what is one's own. The admin, and what is about passwords, e-mail or a second
# factor, is never among them; a test wants a reason for every address that is not.
TRUSTING = frozenset(
    {
        "home",
        "new_picture",
        "picture",
        "picture_file",
        "picture_thumbnail",
        "job",
        "job_stream",
        "stop_waiting",
        "delete_result",
        "gallery",
    }
)
LOOKS = ("GET", "HEAD")
HARMLESS = (*LOOKS, "OPTIONS", "TRACE")


@dataclass(frozen=True)
class SessionStamp:
    """The session or visitor id of a stream, and when it was last checked, in milliseconds."""

    session_key: str
    read_at: int
    visitor: str = ""
    """The id of a visitor, who has no session; their account is closed when they sign in."""


class RequestUser:
    """The user of one request, read on first use."""

    def __init__(self, request: SiteRequest) -> None:
        self.request = request
        self.asked: object = SimpleLazyObject(self.user)
        self.snapshot: Snapshot | None = None
        self.read_at = 0

    def user(self) -> User | AnonymousUser:
        now = timezone.now()
        if may_trust(self.request):
            self.snapshot = snapshots.trusted(self.request, now)
        if self.snapshot:
            return self.snapshot.user()
        user = auth.get_user(self.request)
        self.read_at = snapshots.millis(now)
        return user

    @property
    def is_change(self) -> bool:
        """A form was sent, or a user signed in or out."""
        return self.request.method not in HARMLESS or self.is_replaced

    @property
    def is_replaced(self) -> bool:
        return self.request.user is not self.asked

    @property
    def is_known(self) -> bool:
        """Read from the rows. They are never read just to issue a cookie."""
        return bool(self.read_at) or self.is_replaced


def session_cache(get_response: Callable[[SiteRequest], HttpResponseBase]):
    def middleware(request: SiteRequest) -> HttpResponseBase:
        known = RequestUser(request)
        request.session_user = known
        request.user = known.asked  # type: ignore[assignment]
        response = get_response(request)
        if known.snapshot:
            # As the session itself would have it; what was kept here is not the next person's.
            patch_vary_headers(response, ("Cookie",))
        if known.is_change:
            _note_act(request, response)
        if known.is_known:
            _follow_rows(known, response)
        return response

    return middleware


def may_trust(request: SiteRequest) -> bool:
    """Also for a URL without a view: its 404 page shows a name and nothing else."""
    return request.method in LOOKS and _name_of(request) in ("", *TRUSTING)


def _name_of(request: SiteRequest) -> str:
    """The view name with its namespace; empty where no view matches. May run before the request is
    resolved."""
    try:
        return (request.resolver_match or resolve(request.path_info)).view_name
    except Resolver404:
        return ""


def session_stamp(request: SiteRequest) -> SessionStamp:
    known = request.session_user
    if not request.user.is_authenticated:
        return SessionStamp("", snapshots.millis(timezone.now()), request.visitor)
    read_at = known.snapshot.read_at if known.snapshot else known.read_at
    return SessionStamp(request.session.session_key or "", read_at)


def in_force(session_keys: Collection[str]) -> set[str]:
    """Session keys that are valid and belong to an active user with the same password: Django's own
    check of each request, for many sessions in two queries."""
    going = Session.objects.filter(session_key__in=session_keys, expire_date__gt=timezone.now())
    contents = {session.session_key: session.get_decoded() for session in going}
    ids = {content.get(auth.SESSION_KEY) for content in contents.values()} - {None}
    people = User.objects.filter(is_active=True).in_bulk(ids)
    users = {str(pk): user for pk, user in people.items()}
    return {key for key, content in contents.items() if _is_still(content, users)}


def visitors_in_force(visitors: Collection[str]) -> set[str]:
    """Visitors with an open account, in one query."""
    theirs = Account.objects.open().filter(visitor__in=visitors)
    return {account.visitor or "" for account in theirs.only("visitor")} if visitors else set()


def _is_still(content: dict[str, str], users: dict[str, User]) -> bool:
    user = users.get(content.get(auth.SESSION_KEY, ""))
    if user is None:
        return False
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    told = content.get(auth.HASH_SESSION_KEY, "")
    return any(constant_time_compare(told, known) for known in hashes)


def _note_act(request: SiteRequest, response: HttpResponseBase) -> None:
    if settings.SESSION_COOKIE_NAME in request.COOKIES or request.session.session_key:
        at = snapshots.millis(timezone.now())
        _set(response, ACTED_COOKIE, str(at), int(ACTED_LASTS.total_seconds()))


def _follow_rows(known: RequestUser, response: HttpResponseBase) -> None:
    request, session = known.request, known.request.session
    if not request.user.is_authenticated or not session.session_key:
        if COOKIE in request.COOKIES:
            response.delete_cookie(
                COOKIE,
                path=settings.SESSION_COOKIE_PATH,
                domain=settings.SESSION_COOKIE_DOMAIN,
                samesite="Lax",
            )
        return
    # What was read before a change is perhaps no longer so: it names the account, no more.
    present = snapshots.of_user(request.user, 0 if known.is_change else known.read_at)
    if not _is_as_good(known, present):
        lasts = None if session.get_expire_at_browser_close() else session.get_expiry_age()
        _set(response, COOKIE, snapshots.sign(present, session.session_key), lasts)


def _is_as_good(known: RequestUser, present: Snapshot) -> bool:
    """What the browser has: after a change for the account's name, else for the next page."""
    request = known.request
    told = snapshots.read(request.COOKIES.get(COOKIE, ""), request.session.session_key or "")
    if told is None or known.is_change:
        return told is not None and told.user_id == present.user_id
    return told.says_the_same_as(present) and bool(snapshots.trusted(request, timezone.now()))


def _set(response: HttpResponseBase, name: str, value: str, lasts: int | None) -> None:
    response.set_cookie(
        name,
        value,
        max_age=lasts,
        path=settings.SESSION_COOKIE_PATH,
        domain=settings.SESSION_COOKIE_DOMAIN,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
