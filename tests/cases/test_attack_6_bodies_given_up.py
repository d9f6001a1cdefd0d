"""Unfinished requests are given up, and so are other ways to keep the site busy for nothing."""

import pytest

from tests import databases
from tests.picture_owner import make_picture
from tests.site_process import wait_until
from tests.web_process import answer_of, is_closed, web_process

pytestmark = pytest.mark.site
AT_ONCE, SIZE = 16, 6_000_000


@pytest.fixture(scope="module")
def web(migrated_sqlite, tmp_path_factory):
    folder = tmp_path_factory.mktemp("given-up")
    database = databases.copy_sqlite(migrated_sqlite, folder)
    few = ("--backpressure", str(AT_ONCE))
    with web_process(database, folder, *few, application="tests.impatient_web") as web:
        yield web


@pytest.fixture(scope="module")
def picture(web):
    return make_picture(web.environment, SIZE)


@pytest.fixture(autouse=True)
def nobody_else(web):
    """The connections of the test before are closed."""
    yield
    for each in web.sockets:
        each.close()
    web.sockets.clear()


def test_more_unfinished_bodies_than_the_server_holds_are_given_up(web):
    for _ in range(AT_ONCE + 1):
        web.post("/nowhere", length=1000)
    assert web.get("/healthz")[0] == 200


def test_a_crowd_that_pipelines_and_reads_nothing_is_given_up(web):
    ask = b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for _ in range(AT_ONCE):
        web.open("", body=ask * 200, receive_buffer=4096)
    wait_until(lambda: web.get("/healthz", seconds=2)[0] == 200, seconds=60)


def test_a_crowd_that_asks_for_files_and_reads_nothing_is_given_up(web, picture):
    lines = (f"GET {picture['file']} HTTP/1.1", "Host: localhost", f"Cookie: {picture['cookie']}")
    for _ in range(AT_ONCE):
        web.open(*lines, "", "", receive_buffer=4096)
    wait_until(lambda: web.get("/healthz", seconds=2)[0] == 200, seconds=30)


CHUNKED = ("Transfer-Encoding: chunked",)
FORM = "Content-Type: multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
BUSY = {
    "a byte a chunk": (CHUNKED, b"1\r\nx\r\n" * 20_000, b"4"),
    "an extension of a chunk without an end": (CHUNKED, b"1;" + b"x" * 100_000, b"4"),
    "a form of 30,000 parts": ((FORM, "Content-Length: {}"), PART * 30_000 + b"--x--\r\n", b"4"),
    "a head of 5,000 lines": (("X-Filler: 1",) * 5_000, b"", b"4"),
    "a head without an end": (("X-Filler: " + "x" * 1_000_000,), b"", b"4"),
    "a length that lies": (("Content-Length: 5", "Transfer-Encoding: chunked"), b"0\r\n\r\n", b"4"),
}


@pytest.mark.parametrize(("headers", "body", "status"), BUSY.values(), ids=BUSY)
def test_a_request_made_to_keep_the_site_busy_is_refused_at_once(web, headers, body, status):
    lines = [line.format(len(body)) for line in headers]
    try:
        start = ("POST /sign-in HTTP/1.1", "Host: localhost", "Connection: close")
        asked = web.open(*start, *lines, "", "", body=body)
    except OSError:
        # The server hung up in the middle.
        return
    answer = answer_of(asked)
    assert not answer or answer.startswith(b"HTTP/1.1 " + status)
    assert is_closed(asked) or answer


@pytest.mark.parametrize("many", ["bytes=" + ",".join(["0-"] * 5_000), "bytes=0-0,-1", "bytes=9-1"])
def test_a_range_of_many_costs_no_more_than_the_file(web, picture, many):
    lines = (f"GET {picture['file']} HTTP/1.1", "Host: localhost", f"Cookie: {picture['cookie']}")
    asked = web.open(*lines, f"Range: {many}", "Connection: close", "", "")
    assert len(answer_of(asked)) < SIZE + 5_000


def test_asking_for_the_head_of_a_file_sends_nothing_of_it(web, picture):
    lines = (f"HEAD {picture['file']} HTTP/1.1", "Host: localhost", f"Cookie: {picture['cookie']}")
    answer = answer_of(web.open(*lines, "Connection: close", "", ""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"content-length: 6000000" in answer.lower()
    assert len(answer) < 5_000
