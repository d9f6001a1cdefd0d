"""Requests whose body never ends do not stop the site. The full number, beside 1,000 live pages, is
`make bench PART=crowd`."""

import asyncio
import time
from contextlib import suppress

import pytest

from config.http import bodies
from tests import databases
from tests.bench.crowd import measure
from tests.bench.live import Driver
from tests.site_process import wait_until
from tests.web_process import answer_of, is_closed, web_process

pytestmark = pytest.mark.site
# The server's own bound is made smaller than the crowd, as 8,192 is smaller than 8,400.
CROWD, AT_ONCE = 330, ("--backpressure", "320")


@pytest.fixture(scope="module")
def process(migrated_sqlite, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unfinished")
    database = databases.copy_sqlite(migrated_sqlite, folder)
    with web_process(database, folder, *AT_ONCE) as web:
        yield web


@pytest.fixture
def web(process):
    """Without the connections of the test before."""
    yield process
    for each in process.sockets:
        each.close()
    process.sockets.clear()
    wait_until(lambda: process.connections() == 0)


def crowd_of_bodies(web, crowd=CROWD):
    return [web.post("/hooks/x/y/", length=500) for _ in range(crowd)]


def test_a_crowd_of_unfinished_bodies_leaves_health_and_pages_answering(web):
    crowd_of_bodies(web)
    assert [web.get(path)[0] for path in ("/healthz", "/", "/gallery")] == [200, 200, 200]


def test_of_one_network_only_so_many_stay_unfinished(web):
    crowd = crowd_of_bodies(web)
    most = bodies.MOST_UNFINISHED_OF_A_NETWORK
    wait_until(lambda: sum(map(is_closed, crowd)) == CROWD - most, seconds=20)
    assert answer_of(crowd[0], seconds=1) == b""


def test_a_whole_form_gets_through_beside_them(web):
    crowd_of_bodies(web)
    whole = web.post("/hooks/x/y/", length=3, body=b"abc", Connection="close")
    assert answer_of(whole).startswith(b"HTTP/1.1 404")


def test_live_pages_and_unfinished_bodies_at_once_leave_no_page_unanswered(each_database, tmp_path):
    """`make bench PART=crowd` in small."""
    with web_process(each_database, tmp_path, LIVE_STREAMS_A_PERSON="100000") as web:
        driver = Driver(web.environment)
        try:
            looks = asyncio.run(measure(web, driver, live=50, unfinished=CROWD, seconds=6))
        finally:
            driver.close()
    assert looks.unanswered == 0
    assert looks.p99 < 5


def test_a_refused_crowd_writes_no_line_each(web):
    crowd_of_bodies(web)
    assert web.get("/healthz")[0] == 200
    assert web.logs().count("\n") < 10


DRIP = ("POST /hooks/x/y/ HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked", "", "")
FURTHER = {
    "no byte after 100-continue": ("Content-Length: 9", "Expect: 100-continue"),
    "chunks without an end": ("Transfer-Encoding: chunked",),
    "a form without an end": ("Content-Length: 9", "Content-Type: multipart/form-data; boundary=x"),
}


@pytest.fixture(scope="module")
def impatient(migrated_sqlite, tmp_path_factory):
    folder = tmp_path_factory.mktemp("impatient")
    database = databases.copy_sqlite(migrated_sqlite, folder)
    quickly = ("--http1-header-read-timeout", "2000")
    with web_process(database, folder, *quickly, application="tests.impatient_web") as web:
        yield web


@pytest.mark.parametrize("headers", FURTHER.values(), ids=FURTHER)
def test_a_body_that_does_not_come_is_answered_in_words_and_hung_up_on(impatient, headers):
    unfinished = impatient.open("POST /sign-in HTTP/1.1", "Host: localhost", *headers, "", "")
    answer = answer_of(unfinished)
    assert b"HTTP/1.1 408" in answer
    assert b"did not arrive in time" in answer
    assert is_closed(unfinished)


@pytest.mark.parametrize("piece", [b"1\r\nx\r\n", b"1;x=y", b"x"], ids=["chunk", "extension", "no"])
def test_a_drip_does_not_keep_a_connection(impatient, piece):
    """Neither bytes that come one by one nor an extension of a chunk that never ends."""
    dripping = impatient.open(*DRIP)
    assert drips_until_closed(dripping, piece) < 10


@pytest.mark.parametrize(
    "start", [(), ("GET / HTTP/1.1", "Host: loc")], ids=["idle", "half a head"]
)
def test_who_does_not_finish_the_head_is_hung_up_on(impatient, start):
    opened = impatient.open(*start)
    wait_until(lambda: is_closed(opened), seconds=10)


def test_a_head_that_drips_is_hung_up_on(impatient):
    dripping = impatient.open("GET / HTTP/1.1", "Host: localhost", "")
    assert drips_until_closed(dripping, b"x: y\r\n") < 10


def test_a_crowd_of_half_heads_leaves_health_and_pages_answering(impatient):
    for _ in range(CROWD):
        impatient.open("GET / HTTP/1.1", "Host: loc")
    assert [impatient.get(path)[0] for path in ("/healthz", "/")] == [200, 200]


def drips_until_closed(dripping, piece):
    """The seconds after which the server had hung up."""
    began = time.monotonic()
    with suppress(OSError):
        while not is_closed(dripping) and time.monotonic() - began < 20:
            dripping.sendall(piece)
            time.sleep(0.1)
    return time.monotonic() - began
