"""What a snapshot says, to whom, and for how long. Hostile cookies are nobody's."""

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import RequestFactory
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from jobs.people import snapshots
from jobs.people.snapshots import (
    ACTED_COOKIE,
    COOKIE,
    LASTS,
    NAMES_FOR,
    Snapshot,
    find_account_key,
    trusted,
)

SESSION = "s" * 32
SECOND = timedelta(seconds=1)


@pytest.fixture
def ask(now):
    """ask(read=..., acted=..., ...) is a request with a snapshot that was read `read` ago."""

    def ask(*, ago=timedelta(), session=SESSION, acted="", cookie=None):
        request = RequestFactory().get("/")
        snapshot = Snapshot(7, "ana", False, snapshots.millis(now - ago))
        signed = snapshots.sign(snapshot, SESSION) if cookie is None else cookie
        request.COOKIES = {"sessionid": session, COOKIE: signed}
        if acted:
            request.COOKIES[ACTED_COOKIE] = acted
        return request

    return ask


@pytest.mark.parametrize("ago", [timedelta(), LASTS - SECOND / 1000])
def test_it_is_trusted_for_a_minute(ask, now, ago):
    assert trusted(ask(ago=ago), now) == Snapshot(7, "ana", False, snapshots.millis(now - ago))


@pytest.mark.parametrize("ago", [LASTS, 400 * LASTS, -SECOND / 1000, -400 * LASTS])
def test_a_stale_one_and_one_of_the_future_only_name_the_account(ask, now, ago):
    assert trusted(ask(ago=ago), now) is None
    assert find_account_key(ask(ago=ago)) == "7"


def test_it_soon_names_nobody(ask):
    """Or whoever copied it once would use up its owner's limits for ever."""
    cookie = ask().COOKIES[COOKIE]
    for after, named in ((NAMES_FOR - SECOND, "7"), (NAMES_FOR + SECOND, None)):
        with time_machine.travel(timezone.now() + after, tick=False):
            assert find_account_key(ask(cookie=cookie)) == named


@pytest.mark.parametrize("session", ["", "t" * 32, "s" * 31, "s" * 10_000, "\0", "é"])
def test_beside_another_session_it_is_worth_nothing(ask, now, session):
    assert trusted(ask(session=session), now) is None
    assert find_account_key(ask(session=session)) is None


def test_what_the_browser_did_since_makes_it_stale(ask, now):
    read_at = snapshots.millis(now - SECOND)
    assert trusted(ask(ago=SECOND, acted=str(read_at - 1)), now)
    for acted in (read_at, read_at + 1, 10**18):
        assert trusted(ask(ago=SECOND, acted=str(acted)), now) is None


@pytest.mark.parametrize("acted", ["soon", "-1", "1e3", "٣", "9" * 5000, "1 "])
def test_an_unreadable_word_of_what_it_did_makes_it_stale(ask, now, acted):
    assert trusted(ask(acted=acted), now) is None
    assert find_account_key(ask(acted=acted)) == "7"


def test_a_truncated_or_lengthened_one_is_nobodys(ask, now):
    whole = ask().COOKIES[COOKIE]
    for cookie in (whole[:-1], whole[1:], whole + "A", whole * 40, "." + whole):
        assert trusted(ask(cookie=cookie), now) is None


@given(st.text(max_size=3000))
def test_garbage_is_nobodys(text):
    assert snapshots.read(text, SESSION) is None
    assert snapshots.read(text, text) is None


@pytest.mark.parametrize("said", [[], {}, 7, None, [1, "ana"], {"user_id": 1}, "four"[:3]])
def test_what_another_version_signed_is_nobodys(said):
    assert snapshots.read(snapshots._signer(SESSION).sign_object(said), SESSION) is None


def test_its_user_is_a_real_one_that_reads_what_it_was_not_told(ana, django_assert_num_queries):
    user = snapshots.of_user(ana, 0).user()
    with django_assert_num_queries(0):
        assert (user, user.username, user.is_staff) == (ana, "ana", False)
        assert user.is_active
        assert user.is_authenticated
    User.objects.update(email="ana@example.org")
    with django_assert_num_queries(1):
        assert user.email == "ana@example.org"


def test_nothing_secret_is_in_it(ana):
    assert set(vars(snapshots.of_user(ana, 0))) == {"user_id", "username", "is_staff", "read_at"}


def test_the_longest_name_fits():
    snapshot = Snapshot(2**31 - 1, "\N{LATIN SMALL LETTER A WITH RING ABOVE}" * 150, True, 10**13)
    assert snapshots.read(snapshots.sign(snapshot, SESSION), SESSION) == snapshot
