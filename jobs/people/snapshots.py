"""Session and user as they were last read, in a signed cookie of the browser: for a minute a page
that only shows who is here reads neither from the database.

It is signed, not encrypted, so nothing secret is in it. The signature is over the session's key as
well: beside another session's cookie it is worth nothing. Two ages count:

    a minute      trusted, where it was read after this browser last sent a form
    ten minutes   it still names its account, for what needs a key and no login (rate limits)

Nothing here reads or writes anywhere, and no cookie makes it fail.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest

COOKIE = "snapshot"
SALT = "counterfoil.snapshot.1"
LASTS = timedelta(seconds=60)
NAMES_FOR = timedelta(minutes=10)
"""A copy of it can use up its owner's limits for this long after the session's end."""
LONGEST = 2048
# When this browser last changed something, in milliseconds. Older snapshots are not trusted, also
# where the answer of a page that was read before arrives after that of the form.
ACTED_COOKIE = "acted"
ACTED_LASTS = 2 * LASTS


@dataclass(frozen=True)
class Snapshot:
    user_id: int
    username: str
    is_staff: bool
    read_at: int
    """In milliseconds of the epoch, taken before the rows were read; 0 is never trusted."""

    def user(self) -> User:
        """A real user object. Fields that are not in the snapshot (password, permissions, ...) are
        read on access."""
        known = {
            "id": self.user_id,
            "username": self.username,
            "is_staff": self.is_staff,
            # Only an active user gets a snapshot.
            "is_active": True,
        }
        return User.from_db(DEFAULT_DB_ALIAS, list(known), list(known.values()))

    def says_the_same_as(self, other: "Snapshot") -> bool:
        return replace(self, read_at=0) == replace(other, read_at=0)


def millis(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def of_user(user: User, read_at: int) -> Snapshot:
    return Snapshot(user.pk, user.get_username(), user.is_staff, read_at)


def sign(snapshot: Snapshot, session_key: str) -> str:
    said = [snapshot.user_id, snapshot.username, snapshot.is_staff, snapshot.read_at]
    return _signer(session_key).sign_object(said)


def read(cookie: str, session_key: str) -> Snapshot | None:
    """None for a value that was not signed here, for this session, recently."""
    if not cookie or not session_key or len(cookie) + len(session_key) > LONGEST:
        return None
    try:
        said = _signer(session_key).unsign_object(cookie, max_age=NAMES_FOR)
        return Snapshot(*said)
    except (signing.BadSignature, ValueError, TypeError):
        return None


def read_snapshot(request: HttpRequest) -> Snapshot | None:
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return read(request.COOKIES.get(COOKIE, ""), session_key)


def trusted(request: HttpRequest, now: datetime) -> Snapshot | None:
    """Also where the clock was set back nothing from the future is believed."""
    found = read_snapshot(request)
    if found is None:
        return None
    age = millis(now) - found.read_at
    is_young = 0 <= age < LASTS.total_seconds() * 1000
    return found if is_young and found.read_at > _acted_at(request) else None


def find_account_key(request: HttpRequest) -> str | None:
    """The user's id, of a session that may be over: a key to count by, no proof of a login."""
    found = read_snapshot(request)
    return str(found.user_id) if found else None


def _acted_at(request: HttpRequest) -> float:
    """What cannot be read is as recent as can be."""
    said = request.COOKIES.get(ACTED_COOKIE, "0")
    is_number = said.isascii() and said.isdecimal() and len(said) < 20
    return int(said) if is_number else float("inf")


def _signer(session_key: str) -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=f"{SALT}:{session_key}")
