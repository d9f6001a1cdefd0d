"""Who is signed in: read from the database at most once a minute a browser.

    GET or HEAD of a page in TRUSTING ──> the snapshot, if it is trusted: no query
    everything else, and all forms    ──> session and user, from their rows

A ban, a new password or a new role is in force within that minute everywhere. In the browser that
made it it is at once: an answer to a form says when the browser acted, and no older snapshot is
trusted there. A snapshot is given where the rows were read and the browser has none as good, and
taken away where they say that nobody is signed in.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.crypto import constant_time_compare
from django.utils.functional import SimpleLazyObject

from jobs.people import snapshots
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
class Standing:
    """What somebody's stream stands on, and when that was last read, in milliseconds."""

    session_key: str
    read_at: int
    visitor: str = ""
    """The id of a visitor, who has no session; their account is closed when they sign in."""


class Recognition:
    """One request's answer to the question who is here, given when it is first asked."""

    def __init__(self, request: HttpRequest) -> None:
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
        """Something was sent, or somebody signed in or out."""
        return self.request.method not in HARMLESS or self.is_replaced

    @property
    def is_replaced(self) -> bool:
        return self.request.user is not self.asked

    @property
    def is_known(self) -> bool:
        """From the rows; nobody is read merely to make a cookie."""
        return bool(self.read_at) or self.is_replaced


def recognition(get_response: Callable[[HttpRequest], HttpResponseBase]):
    def middleware(request: HttpRequest) -> HttpResponseBase:
        known = Recognition(request)
        request.recognition = known  # type: ignore[attr-defined]
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


def may_trust(request: HttpRequest) -> bool:
    """Also where there is nothing: the page that says so shows a name and no more."""
    return request.method in LOOKS and _name_of(request) in ("", *TRUSTING)


def _name_of(request: HttpRequest) -> str:
    """Of the address, with its namespace; empty where there is nothing. May be asked before the
    request has come as far as its view."""
    try:
        return (request.resolver_match or resolve(request.path_info)).view_name
    except Resolver404:
        return ""


def standing_of(request: HttpRequest) -> Standing:
    known = request.recognition  # type: ignore[attr-defined]
    if not request.user.is_authenticated:
        return Standing("", snapshots.millis(timezone.now()), request.visitor)  # type: ignore[attr-defined]
    read_at = known.snapshot.read_at if known.snapshot else known.read_at
    return Standing(request.session.session_key or "", read_at)


def in_force(session_keys: Collection[str]) -> set[str]:
    """Those whose session goes on, for a user who may still sign in with the same password: what
    Django asks of each request, for many at once in two queries."""
    going = Session.objects.filter(session_key__in=session_keys, expire_date__gt=timezone.now())
    contents = {session.session_key: session.get_decoded() for session in going}
    ids = {content.get(auth.SESSION_KEY) for content in contents.values()} - {None}
    people = User.objects.filter(is_active=True).in_bulk(ids)
    users = {str(pk): user for pk, user in people.items()}
    return {key for key, content in contents.items() if _is_still(content, users)}


def visitors_in_force(visitors: Collection[str]) -> set[str]:
    """Those whose account is open and still theirs, in one query."""
    theirs = Account.objects.open().filter(visitor__in=visitors)
    return {account.visitor or "" for account in theirs.only("visitor")} if visitors else set()


def _is_still(content: dict[str, str], users: dict[str, User]) -> bool:
    user = users.get(content.get(auth.SESSION_KEY, ""))
    if user is None:
        return False
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    told = content.get(auth.HASH_SESSION_KEY, "")
    return any(constant_time_compare(told, known) for known in hashes)


def _note_act(request: HttpRequest, response: HttpResponseBase) -> None:
    if settings.SESSION_COOKIE_NAME in request.COOKIES or request.session.session_key:
        at = snapshots.millis(timezone.now())
        _set(response, ACTED_COOKIE, str(at), int(ACTED_LASTS.total_seconds()))


def _follow_rows(known: Recognition, response: HttpResponseBase) -> None:
    request, session = known.request, known.request.session
    if not request.user.is_authenticated or not session.session_key:
        if COOKIE in request.COOKIES:
            _delete(response)
        return
    # What was read before a change is perhaps no longer so: it names the account, no more.
    present = snapshots.of_user(request.user, 0 if known.is_change else known.read_at)
    if not _is_as_good(known, present):
        lasts = None if session.get_expire_at_browser_close() else session.get_expiry_age()
        _set(response, COOKIE, snapshots.sign(present, session.session_key), lasts)


def _is_as_good(known: Recognition, present: Snapshot) -> bool:
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


def _delete(response: HttpResponseBase) -> None:
    response.delete_cookie(
        COOKIE,
        path=settings.SESSION_COOKIE_PATH,
        domain=settings.SESSION_COOKIE_DOMAIN,
        samesite="Lax",
    )
