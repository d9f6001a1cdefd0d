"""What no browser sends is no fault of ours: it is answered in words, without a traceback, and
counts for the limits like any other request."""

import pytest

from tests import databases
from tests.fuzz.run import TRACE, furnish, send
from tests.web_process import web_process

pytestmark = pytest.mark.site


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def web(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "sqlite":
        template = request.getfixturevalue("migrated_sqlite")
        database = databases.copy_sqlite(template, folder)
        with web_process(database, folder, RATE_LIMITS="MEMORY") as web:
            yield web
        return
    with (
        request.getfixturevalue("copy_postgres")() as database,
        web_process(database, folder, RATE_LIMITS="MEMORY") as web,
    ):
        yield web


@pytest.fixture(scope="module")
def staff_cookie(web) -> str:
    return furnish(web)["cookies"]["staff"][0]


def get(web, path: str, *lines: str) -> tuple[int, str]:
    """The status, and the head of the answer. By raw bytes: clients refuse to send some of it."""
    head = [f"GET {path} HTTP/1.1", "Host: localhost", *lines, "Connection: close"]
    return send(web.port, "\r\n".join([*head, "", ""]).encode("latin-1"))


SESSIONS = [
    '"abcdefgh\\000ijkl"',
    '"\\000"',
    '"\\355\\240\\200"',
    '"abcdefgh\\012ijkl"',
    "x" * 5000,
    "ABCDEFGH",
    "\xed\xa0\x80",
    "../../etc",
]


@pytest.mark.parametrize("value", SESSIONS, ids=range(len(SESSIONS)))
def test_a_session_that_nobody_has_is_no_session(web, value):
    status, head = get(web, "/gallery", f"Cookie: sessionid={value}")
    assert status == 200
    assert 'set-cookie: sessionid=""' in head
    assert not TRACE.search(web.logs())


@pytest.mark.parametrize(
    "name", ["csrftoken", "messages", "visitor", "snapshot", "acted", "theme", "nobodys"]
)
def test_a_cookie_with_a_control_character_is_dropped(web, name):
    status, head = get(web, "/gallery", f'Cookie: {name}="a\\000b"')
    assert status == 200
    assert f"set-cookie: {name}=" in head
    assert not TRACE.search(web.logs())


ADDRESSES = [
    "/admin/django_q/success/%00/change/",
    "/admin/django_q/failure/%00/change/",
    "/admin/django_q/success/1%00/history/",
    # The admin's own escape.
    "/admin/django_q/success/_00/change/",
    "/admin/django_q/failure/1_00/delete/",
    "/admin/jobs/job/%00/change/",
    "/admin/auth/user/%00/password/",
    "/admin/r/1/%00/",
    "/admin/quotas/grant/?day__year=2147483648",
    "/admin/quotas/grant/?day__year=9999&day__month=12",
    "/admin/quotas/grant/?day__year=9999",
    "/admin/quotas/account/1/change/?_to_field=",
    "/admin/quotas/grant/?id=" + "9" * 40,
    "/admin/jobs/job/?q=%00",
    "/admin/jobs/job/?p=" + "9" * 40,
    "/admin/jobs/job/?o=1.-2.x.." + "9" * 40,
    "/admin/auth/user/" + "9" * 40 + "/change/",
    "/admin/dashboard/%00/pause/",
    "/static/%00",
    "/sign-in?next=%00%ED%A0%80",
]


@pytest.mark.parametrize("path", ADDRESSES)
def test_no_address_is_a_fault_of_ours(web, staff_cookie, path):
    status, _ = get(web, path, f"Cookie: {staff_cookie}")
    assert status in (200, 302, 400, 404)
    assert not TRACE.search(web.logs())


def test_many_parameters_and_a_charset_are_refused_in_words(web):
    path = f"/gallery?{'a=1&' * 1500}"
    status, _ = get(web, path, "Content-Type: text/plain; charset=utf-8")
    assert status == 400
    assert not TRACE.search(web.logs())


def test_what_is_unusable_counts_for_the_limits(web):
    _, head = get(web, "/")
    visitor = next(line for line in head.splitlines() if line.startswith("set-cookie: visitor="))
    cookie = visitor.removeprefix("set-cookie: ").partition(";")[0]
    answers = [get(web, "/nowhere", f'Cookie: {cookie}; sessionid="\\000"') for _ in range(110)]
    assert [status for status, _ in answers].count(429) >= 10
