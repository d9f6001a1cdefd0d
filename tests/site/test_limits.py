"""The limits of requests on a whole site, met over HTTP as people and their machines meet them."""

import http.client
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.quotas.broken_store import relay_to
from tests.site_process import Site

pytestmark = pytest.mark.site

HTMX = {"HX-Request": "true"}
PEOPLE = 200
AT_ONCE = 16
MANY = 1000


@pytest.fixture(scope="module")
def limiting_site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("limiting"), RATE_LIMITS="MEMORY", WORKERS="1")
    try:
        yield site.start()
    finally:
        site.stop()


class Person:
    """A browser that has never been here."""

    def __init__(self, site: Site) -> None:
        self.session = requests.Session()
        self.url = site.url
        self.told: Counter[int] = Counter()

    def get(self, path: str, **more) -> requests.Response:
        return self._noted(self.session.get(self.url + path, timeout=60, **more))

    def post(self, path: str, **fields: str) -> requests.Response:
        return self._noted(self.session.post(self.url + path, fields, timeout=60))

    def order(self) -> str:
        """The address of the job."""
        form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', self.get("/images/new").text))
        return self.post("/images/new", **{**form, "prompt": "A boat"}).url.removeprefix(self.url)

    def _noted(self, response: requests.Response) -> requests.Response:
        self.told.update(each.status_code for each in [*response.history, response])
        return response


def crowd(task, people) -> list:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(task, people))


def with_cookie(site: Site) -> Person:
    person = Person(site)
    person.get("/sign-in")
    return person


def test_two_hundred_people_behind_one_address_work_with_live_pages(start_site):
    """All come without a cookie within a minute: each orders, follows the job by stream and by
    polls, and looks at five pages."""
    times = {"SANDBOX_SECONDS": "600", "POLL_EVERY": "60"}
    site = start_site(RATE_LIMITS="MEMORY", WORKERS="1", **times)

    def work(person: Person) -> requests.Response:
        job = person.order()
        stream = person.get(f"{job}/stream", stream=True)
        for page in ("/", "/gallery", job, "/images/new", "/"):
            person.get(page)
        for _ in range(3):
            person.get(f"{job}?seen=1", headers=HTMX)
        return stream

    people = [Person(site) for _ in range(PEOPLE)]
    began = time.monotonic()
    streams = crowd(work, people)
    print(f"{PEOPLE} people in {time.monotonic() - began:.0f} s")
    assert sum((person.told for person in people), Counter()).keys() <= {200, 303, 302}
    assert [next(stream.iter_lines()) for stream in streams] == [b"event: state"] * PEOPLE
    for stream in streams:
        stream.close()


def test_people_at_once_get_as_many_pages_as_the_rule_says(limiting_site):
    """Sent side by side, by one browser."""
    cookies = with_cookie(limiting_site).session.cookies.get_dict()
    told = crowd(
        lambda _: requests.get(f"{limiting_site.url}/theme", cookies=cookies).status_code,
        range(150),
    )
    assert Counter(told) == {405: 100, 429: 50}


WAYS_AROUND = [
    ("GET", "/theme/", {}),
    ("GET", "//theme", {}),
    ("GET", "/%74heme", {}),
    ("GET", "/theme%2f", {}),
    ("GET", "/THEME", {}),
    ("GET", "/static/../theme", {}),
    ("GET", "/healthz/../theme", {}),
    ("GET", "/theme;/healthz", {}),
    ("GET", "/theme?/healthz", {}),
    ("GET", "/static/gone.css", {}),
    ("HEAD", "/theme", {}),
    ("OPTIONS", "/theme", {}),
    ("PUT", "/sign-in", {}),
    ("PROPFIND", "/theme", {}),
    ("POST", "/theme", {}),
    ("GET", "/theme", {"HX-Request": "true"}),
    ("GET", "/theme", {"X-HTTP-Method-Override": "OPTIONS", "X-Original-URL": "/healthz"}),
    ("GET", "/theme", {"X-Forwarded-For": "198.51.100.1", "Forwarded": "for=198.51.100.1"}),
    ("GET", "/theme", {"X_Forwarded_For": "198.51.100.1", "Script-Name": "/healthz"}),
]


def test_no_way_around_the_rule_of_pages(limiting_site):
    person = with_cookie(limiting_site)
    crowd(lambda _: person.get("/theme"), range(100))
    told = {way[:2]: status_of(limiting_site, person, *way) for way in WAYS_AROUND}
    assert {way: status for way, status in told.items() if status != 429} == {}


def status_of(site: Site, person: Person, method: str, path: str, headers: dict) -> int:
    """The path as it is written, which clients would tidy."""
    line = http.client.HTTPConnection("127.0.0.1", int(site.settings["PORT"]), timeout=60)
    cookies = "; ".join(f"{name}={value}" for name, value in person.session.cookies.items())
    line.putrequest(method, path, skip_accept_encoding=True)
    for name, value in {"Cookie": cookies, "Content-Length": "0", **headers}.items():
        line.putheader(name, value)
    line.endheaders()
    try:
        return line.getresponse().status
    finally:
        line.close()


@pytest.mark.redis
def test_a_redis_that_dies_under_a_crowd_and_comes_back_is_not_noticed(start_site, redis_url):
    """Nor does the site wait for it when it stops."""
    with relay_to(redis_url) as relay:
        site = start_site(RATE_LIMITS="REDIS", REDIS_URL=relay.url, WORKERS="1")
        people = [with_cookie(site) for _ in range(50)]
        began = time.monotonic()

        def knock(number: int) -> int:
            if number == MANY // 5:
                relay.way = "gone"
                relay.drop()
            if number == MANY * 4 // 5:
                relay.way = "through"
            return people[number % 50].get("/theme").status_code

        assert set(crowd(knock, range(MANY))) == {405}
        print(f"{MANY} requests in {time.monotonic() - began:.1f} s")
        site.wait_until(lambda: "Rate limiter let requests through uncounted" in site.logs())
        site.wait_until(lambda: 429 in {people[0].get("/theme").status_code for _ in range(110)})
        relay.way = "drip"
        relay.drop()
        assert crowd(lambda person: person.get("/theme").status_code, people[1:]) == [405] * 49
        assert site.stop() == 0
