"""What the limits cost a request: none, in memory, in Redis, and with a Redis that is broken.

One page of the site through all of its middleware, in one process and one run; the ways take turns
request by request, so that the ratios hold on a busy machine too. Then the limiter alone, over a
million people who come once each: time, and by how much the process grew.
"""

import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from datetime import timedelta
from functools import cache
from pathlib import Path

import psutil

from tests.bench._size import choose
from tests.databases import Database, migrate
from tests.site_process import free_port

REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/5")
ROUNDS = choose(600, 3)
# Each comes seldom enough to be let through.
PEOPLE = 50
KEYS = choose(1_000_000, 1000)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as house:
        database = Database("sqlite", f"sqlite:///{folder}/limits.sqlite3")
        migrate(database, Path(folder))
        os.environ |= database.environment(Path(folder)) | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "TEST_DATABASE": database.url,
        }
        import django

        django.setup()
        pages(house)
        keys()


def pages(house: ExitStack) -> None:
    limiters = ways(house)
    costs: dict[str, list[float]] = {name: [] for name in limiters}
    for number in range(ROUNDS):
        for name, limiter in limiters.items():
            costs[name].append(cost_of_page(limiter, f"{name} {number % PEOPLE}"))
    base = statistics.median(costs["none"])
    print(f"a page of a visitor, ms: median of {ROUNDS}, times the one without limits, p99")
    for name, each in costs.items():
        middle, slow = statistics.median(each), statistics.quantiles(each, n=100)[98]
        print(f"  {name:<26} {middle:7.3f} {middle / base:6.2f} {slow:8.3f}")


def ways(house: ExitStack) -> dict[str, object]:
    from quotas.ratelimit.limiter import NoLimits, in_memory, in_redis
    from tests.quotas.broken_store import relay_to

    silent = house.enter_context(relay_to(REDIS))
    silent.way = "silent"
    return {
        "none": NoLimits(),
        "memory": in_memory(),
        "Redis": in_redis(REDIS),
        "Redis that is not there": in_redis(f"redis://127.0.0.1:{free_port()}/0"),
        "Redis that never answers": in_redis(silent.url),
    }


def cost_of_page(limiter: object, visitor: str) -> float:
    from django.core.signing import get_cookie_signer
    from django.test import RequestFactory

    from jobs.people.visitors import COOKIE, COOKIE_SALT
    from jobs.web import middleware

    middleware.limiter = lambda: limiter
    request = RequestFactory(SERVER_NAME="localhost").get("/")
    request.COOKIES[COOKIE] = get_cookie_signer(salt=COOKIE + COOKIE_SALT).sign(visitor)
    began = time.perf_counter()
    response = handler().get_response(request)
    took = 1000 * (time.perf_counter() - began)
    assert response.status_code == 200, response.status_code
    return took


@cache
def handler():
    from django.core.handlers.wsgi import WSGIHandler

    return WSGIHandler()


def keys() -> None:
    from quotas.ratelimit.limiter import Rule, Window, in_memory

    rule, limiter, process = Rule("pages", 100, timedelta(minutes=1)), in_memory(), psutil.Process()
    before, began = process.memory_info().rss, time.perf_counter()
    for number in range(KEYS):
        limiter.check([Window(rule, f"visitor {number}")])
    took, grown = time.perf_counter() - began, process.memory_info().rss - before
    print(f"{KEYS:,} keys: {1e6 * took / KEYS:.1f} us each, {grown / 2**20:.1f} MiB more")
