"""The stream of a job's page, read from the real web server on both databases."""

import signal
import socket
import sqlite3
import time
import urllib.parse
from contextlib import closing
from pathlib import Path

import psutil
import psycopg
import pytest
import requests

from tests.site_orders import Desk
from tests.site_process import Site, resume, wait_until

pytestmark = pytest.mark.site

FORGOTTEN_WITHIN = 1.0
# Longer than a run of the sandbox takes here, so that its end meets the lock.
HELD_FOR = 3.0


class Stream:
    """One open page, as raw as a browser's."""

    def __init__(self, site: Site, path: str, cookie: str) -> None:
        address = urllib.parse.urlsplit(site.url)
        self.socket = socket.create_connection((address.hostname, address.port), timeout=30)
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
        self.socket.sendall(request.encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = dict(self._headers())

    def _headers(self):
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(":")
            yield name.lower(), value.strip()

    def event(self) -> tuple[str, str, str]:
        """The next event as (name, id, data), chunk sizes and comments passed over."""
        name = number = ""
        data: list[str] = []
        while True:
            line = self.file.readline()
            assert line, "the stream ended"
            field, _, value = line.decode().rstrip("\r\n").partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                number = value
            elif field == "data":
                data.append(value)
            elif line == b"\n" and name:
                return name, number, "\n".join(data)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def site(request, tmp_path_factory):
    settings = {"SANDBOX_SECONDS": "2", "POLL_EVERY": "0.3", "SANDBOX_MINUTE": "600"}
    # A worker that lost its connection may lose its stage with it, until the lease lapses.
    settings["LEASE_LASTS"] = "3"
    if request.param == "sqlite":
        yield from _running(tmp_path_factory.mktemp("live"), settings)
        return
    with request.getfixturevalue("copy_postgres")() as database:
        settings["DATABASE_URL"] = database.url
        yield from _running(tmp_path_factory.mktemp("live"), settings)


def _running(folder, settings):
    site = Site(folder, **settings)
    try:
        yield site.start()
    finally:
        site.stop()


@pytest.fixture(scope="module")
def desk(site):
    desk = Desk(site.env | {"PGAPPNAME": "desk"})
    desk.ask("place", "first")
    yield desk
    desk.close()


@pytest.fixture(scope="module")
def cookie(site, desk) -> str:
    """Ana, who ordered what `desk` places."""
    session = requests.Session()
    session.get(f"{site.url}/admin/login/")
    token = session.cookies["csrftoken"]
    form = {"username": "ana", "password": "ana", "csrfmiddlewaretoken": token}
    session.post(f"{site.url}/admin/login/", data=form)
    return "; ".join(f"{one.name}={one.value}" for one in session.cookies)


@pytest.fixture
def look(site, desk, cookie):
    """Open the stream of a job; all are closed at the end."""
    opened: list[Stream] = []

    def open_stream(job: str, as_cookie: str = cookie) -> Stream:
        opened.append(Stream(site, f"/jobs/{job}/stream", as_cookie))
        return opened[-1]

    yield open_stream
    for stream in opened:
        stream.close()
    wait_until(lambda: streams(site) == 0)


def streams(site: Site) -> int:
    return requests.get(f"{site.url}/healthz", timeout=30).json()["streams"]


def test_the_present_state_comes_first_then_each_new_one_then_the_end(site, desk, look):
    site.wait_until(site.is_whole)
    standing = site.suspend("cluster")
    try:
        stream = look(desk.ask("place", "live")["live"])
        first, number, data = stream.event()
    finally:
        resume(standing)
    assert first == "state"
    assert "Queued" in data
    seen, numbers = [data], [int(number)]
    while True:
        name, number, data = stream.event()
        if name == "close":
            break
        assert name == "state"
        numbers.append(int(number))
        seen.append(data)
    assert data == "ended"
    assert numbers == sorted(set(numbers))
    assert len(numbers) >= 3
    assert "Ready" in seen[-1]
    assert 'id="quota"' in seen[-1]


def test_a_stream_is_neither_cached_nor_buffered(desk, look):
    stream = look(desk.ask("place", "slow_14")["slow_14"])
    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["cache-control"] == "no-cache"
    assert stream.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in stream.headers


def test_a_finished_job_is_shown_once_and_closed(site, desk, look):
    job = desk.ask("place", "done")["done"]
    site.wait_until(lambda: desk.ask("report")[job]["state"] == "ready")
    stream = look(job)
    assert stream.event()[0] == "state"
    assert stream.event()[::2] == ("close", "ended")


def test_a_third_stream_of_a_person_ends_the_first(desk, look):
    job = desk.ask("place", "slow_14")["slow_14"]
    first, second = look(job), look(job)
    assert first.event()[0] == second.event()[0] == "state"
    third = look(job)
    assert third.event()[0] == "state"
    while (event := first.event())[0] == "state":
        pass
    assert event[::2] == ("close", "replaced")


def test_a_stream_outlives_the_databases_connections(site, desk, look):
    job = desk.ask("place", "cut")["cut"]
    stream = look(job)
    stream.event()
    lose_connections(site)
    while stream.event()[0] == "state":
        pass
    assert desk.ask("report")[job]["state"] == "ready"


def lose_connections(site: Site) -> None:
    """On PostgreSQL all of the site's; SQLite has none, so its only write lock is held a while."""
    url = site.settings["DATABASE_URL"]
    if url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND application_name <> 'desk'"
            )
        return
    file = Path(site.settings["DATA_DIR"]) / "counterfoil.sqlite3"
    with closing(sqlite3.connect(file, timeout=20, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(HELD_FOR)
        connection.execute("ROLLBACK")


def test_somebody_else_has_no_such_stream(desk, look):
    job = desk.ask("place", "slow_14")["slow_14"]
    assert look(job, "").status == 404


def test_a_viewer_who_left_is_forgotten_within_a_second(site, desk, look):
    stream = look(desk.ask("place", "slow_14")["slow_14"])
    stream.event()
    assert streams(site) == 1
    stream.close()
    left_at = time.monotonic()
    wait_until(lambda: streams(site) == 0)
    assert time.monotonic() - left_at < 5 * FORGOTTEN_WITHIN


def test_whenever_a_viewer_leaves_no_stream_is_left(site, desk, cookie):
    """In the middle of the request, before the answer, with the first event, and after it."""
    path = f"/jobs/{desk.ask('place', 'slow_14')['slow_14']}/stream"
    for number in range(300):
        leave_after(number * 0.0002, site, path, cookie)
    wait_until(lambda: streams(site) == 0)


def leave_after(seconds: float, site: Site, path: str, cookie: str) -> None:
    address = urllib.parse.urlsplit(site.url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as viewer:
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
        viewer.sendall(request.encode())
        time.sleep(seconds)


def test_the_web_process_may_open_as_many_files_as_the_machine_lets_it(site):
    for process in psutil.Process(site.pids()["web"]).children():
        soft, hard = process.rlimit(psutil.RLIMIT_NOFILE)
        assert soft == hard


def test_open_streams_hold_no_connection_of_their_own(site, desk, look):
    look(desk.ask("place", "slow_14")["slow_14"]).event()
    one = connections_of(site)
    job = desk.ask("place", "slow_14")["slow_14"]
    for _ in range(20):
        look(job).event()
    wait_until(lambda: connections_of(site) <= one + 1)


def connections_of(site: Site) -> int:
    """Those of the web process alone: workers and ticker come and go."""
    leader = psutil.Process(site.pids()["web"])
    web = [leader, *leader.children(recursive=True)]
    if site.settings["DATABASE_URL"]:
        port = urllib.parse.urlsplit(site.settings["DATABASE_URL"]).port or 5432
        lines = [line for process in web for line in process.net_connections("tcp")]
        return sum(bool(line.raddr) and line.raddr.port == port for line in lines)
    opened = [file.path for process in web for file in process.open_files()]
    return sum(path.endswith("counterfoil.sqlite3") for path in opened)


def test_health_needs_no_database_and_readiness_names_what_is_missing(site):
    assert requests.get(f"{site.url}/healthz", timeout=10).json()["status"] == "ok"
    site.wait_until(lambda: requests.get(f"{site.url}/readyz", timeout=10).status_code == 200)
    ready = requests.get(f"{site.url}/readyz", timeout=10).json()
    assert ready == {
        "ready": True,
        "database": True,
        "writes": True,
        "migrations": True,
        "storage": True,
        "ticker": True,
        "workers": True,
        "missing": [],
    }


def test_the_site_stops_in_time_with_streams_open(site, desk, cookie):
    job = desk.ask("place", "slow_14")["slow_14"]
    stream = Stream(site, f"/jobs/{job}/stream", cookie)
    stream.event()
    web = site.pids()["web"]
    site.kill("web", signal.SIGTERM)
    began = time.monotonic()
    site.wait_until(lambda: site.pids().get("web") not in (web, None))
    assert time.monotonic() - began < 5 * 3
    stream.close()
    site.wait_until(lambda: answers(site))


def answers(site: Site) -> bool:
    try:
        return requests.get(f"{site.url}/healthz", timeout=10).ok
    except requests.RequestException:
        return False
