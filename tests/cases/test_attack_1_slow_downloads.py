"""Readers who do not read hold neither a database connection nor a thread, and not for ever."""

import time

import pytest

from tests import databases
from tests.picture_owner import make_picture
from tests.site_process import wait_until
from tests.web_process import answer_of, is_closed, web_process

pytestmark = pytest.mark.site
# More than the pool of 20 has connections.
READERS, SIZE = 22, 6_000_000


@pytest.fixture(scope="module")
def web(migrated_sqlite, tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    database = databases.copy_sqlite(migrated_sqlite, folder)
    with web_process(database, folder, application="tests.impatient_web") as web:
        yield web


@pytest.fixture(scope="module")
def picture(web):
    return make_picture(web.environment, SIZE)


def ask_and_read_nothing(web, picture, path=""):
    lines = (f"GET {path or picture['file']} HTTP/1.1", "Host: localhost")
    return web.open(*lines, f"Cookie: {picture['cookie']}", "", "", receive_buffer=4096)


def test_readers_who_do_not_read_leave_the_pages_answering(each_database, tmp_path):
    with web_process(each_database, tmp_path) as web:
        picture = make_picture(web.environment, SIZE)
        readers = [ask_and_read_nothing(web, picture) for _ in range(READERS)]
        begun = {reader.recv(12) for reader in readers}
        pages = ["/", "/healthz", "/gallery", "/images/new"]
        assert [web.get(path)[0] for path in pages] == [200, 200, 200, 302]
        assert begun == {b"HTTP/1.1 200"}


def test_readers_who_do_not_read_hold_no_thread_each(web, picture):
    before = web.worker().num_threads()
    readers = [ask_and_read_nothing(web, picture) for _ in range(READERS)]
    assert all(reader.recv(12) == b"HTTP/1.1 200" for reader in readers)
    wait_until(lambda: web.worker().num_threads() < before + READERS / 2, seconds=10)


def test_a_reader_who_does_not_read_is_hung_up_on(web, picture):
    reader = ask_and_read_nothing(web, picture)
    wait_until(lambda: web.holds(reader), seconds=20)
    wait_until(lambda: not web.holds(reader), seconds=20)
    assert len(answer_of(reader)) < SIZE


def test_a_reader_who_takes_a_byte_at_a_time_is_hung_up_on(web, picture):
    """Its window opens now and then, so the system would keep it."""
    reader = ask_and_read_nothing(web, picture)
    ends_at = time.monotonic() + 20
    while not is_hung_up_on(reader) and time.monotonic() < ends_at:
        time.sleep(0.05)
    assert time.monotonic() < ends_at


def is_hung_up_on(reader):
    try:
        return not reader.recv(256)
    except ConnectionResetError:
        return True


def test_a_slow_reader_gets_the_whole_picture(web, picture):
    reader = ask_and_read_nothing(web, picture)
    got = 0
    while got < SIZE and (part := reader.recv(65536)):
        got += len(part)
    assert got >= SIZE
    assert not is_closed(reader)
