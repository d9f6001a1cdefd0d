"""A store of the counts that fails in any way: nobody is refused, nobody waits, and it is known."""

import itertools
import socket
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
import redis
from limits import WindowStats

from quotas.ratelimit import breaker, bypassed
from quotas.ratelimit.breaker import FAILURES, PROBE_EVERY, THREADS, GuardedStore
from quotas.ratelimit.limiter import Limiter, Rule, Window, in_redis, limiter
from quotas.states import BypassReason
from tests.quotas.broken_store import WAYS, relay_to
from tests.site_process import wait_until

RULE = Rule("pages", 5, timedelta(seconds=60))
ANA = Window(RULE, "user 1")
MANY = 1000
# What a busy machine needs at the most for an answer that comes at once.
AMPLE = 30.0
# Where nothing answers: so long that all else that a thousand people cost is little beside it.
SHORT = 0.2


class Store:
    """Stands for the library's strategy. `answer` is what each question does."""

    def __init__(self, answer) -> None:
        self.answer = answer
        self.asked = 0

    def hit(self, item, identifier):
        self.asked += 1
        return self.answer()

    def get_window_stats(self, item, identifier):
        return self.answer()


def raises():
    raise ConnectionError


def limiter_of(store, **options) -> Limiter:
    return Limiter(lambda rule: store, GuardedStore(**({"budget": AMPLE} | options)))


def check_many(limits: Limiter, many: int = MANY) -> list:
    with ThreadPoolExecutor(20) as people:
        return list(people.map(lambda _: limits.check([ANA]), range(many)))


@contextmanager
def within(seconds: float):
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


@contextmanager
def letting_go(released: threading.Event):
    """Whatever fails: a thread that hangs would keep the process from its end."""
    try:
        yield
    finally:
        released.set()


def how_many_unmeasured() -> int:
    return sum(bypassed.tally.unflushed().values())


def is_measured(limits: Limiter) -> bool:
    """On a busy machine an answer may come too late."""
    before = how_many_unmeasured()
    limits.check([Window(RULE, str(uuid.uuid4()))])
    return how_many_unmeasured() == before


@pytest.fixture
def relay(redis_url, settings, monkeypatch):
    monkeypatch.setattr("quotas.ratelimit.limiter.BUDGET", SHORT)
    settings.Q_CLUSTER = {"name": f"test-{uuid.uuid4()}"}
    with relay_to(redis_url) as relay:
        yield relay


def test_a_store_that_raises_lets_through_and_is_left_alone():
    store = Store(raises)
    limits = limiter_of(store, clock=lambda: 0.0)
    assert check_many(limits) == [None] * MANY
    assert FAILURES <= store.asked <= FAILURES + THREADS
    assert bypassed.tally.unflushed() == {BypassReason.ERROR: MANY}


def test_of_a_crowd_that_waits_for_a_thread_few_reach_a_store_that_raises():
    crowd = 200
    here = threading.Barrier(crowd)

    def check(_number: int) -> None:
        here.wait()
        limits.check([ANA])

    store = Store(raises)
    limits = limiter_of(store, clock=lambda: 0.0)
    with ThreadPoolExecutor(crowd) as people:
        list(people.map(check, range(crowd)))
    assert store.asked <= FAILURES + THREADS
    assert how_many_unmeasured() == crowd


def test_a_store_that_hangs_holds_up_nobody_for_long():
    released = threading.Event()
    store = Store(released.wait)
    limits = limiter_of(store, clock=lambda: 0.0, budget=SHORT)
    with letting_go(released), within(5 * 2 * SHORT * FAILURES):
        assert check_many(limits) == [None] * MANY
    assert store.asked <= THREADS
    assert bypassed.tally.unflushed() == {BypassReason.TIMEOUT: MANY}


@pytest.mark.parametrize("lie", [None, "no", 0, (0, 0), (float("nan"), 0), ("x", "y"), object()])
def test_a_store_that_lies_refuses_nobody(lie):
    store = Store(lambda: False)
    store.get_window_stats = lambda *_: lie
    assert check_many(limiter_of(store), 50) == [None] * 50


@pytest.mark.parametrize("reset_in", [-2, 3600, float("inf"), float("nan")])
def test_a_refusal_that_ends_at_no_possible_time_is_a_lie(reset_in):
    store = Store(lambda: False)
    store.get_window_stats = lambda *_: WindowStats(time.time() + reset_in, 0)
    assert limiter_of(store).check([ANA]) is None
    assert bypassed.tally.unflushed() == {BypassReason.INCONSISTENT: 1}


@pytest.mark.parametrize("left", [-1, -(10**9), float("-inf"), float("nan"), "0"])
def test_a_window_that_says_it_holds_more_than_fits_is_a_lie(left):
    store = Store(lambda: False)
    store.get_window_stats = lambda *_: WindowStats(time.time() + 30, left)
    assert limiter_of(store).check([ANA]) is None
    assert bypassed.tally.unflushed() == {BypassReason.INCONSISTENT: 1}


class Turning(Store):
    """Full when it is asked, and with room when it is asked why: time went on in between."""

    def __init__(self, times: int) -> None:
        super().__init__(lambda: False)
        self.times = times

    def hit(self, item, identifier):
        super().hit(item, identifier)
        return self.asked > self.times

    def get_window_stats(self, item, identifier):
        return WindowStats(time.time() + 60, 1)


@pytest.mark.parametrize("times", [1, 2])
def test_a_window_that_has_room_a_moment_later_is_no_lie(times):
    assert limiter_of(Turning(times)).check([ANA]) is None
    assert not bypassed.tally.unflushed()


def test_one_that_never_has_the_room_it_tells_of_is_one():
    assert limiter_of(Turning(99)).check([ANA]) is None
    assert bypassed.tally.unflushed() == {BypassReason.INCONSISTENT: 1}


def test_a_system_without_a_thread_to_give_leaves_the_places_free(monkeypatch):
    store = Store(lambda: True)
    limits = limiter_of(store, clock=itertools.count(step=PROBE_EVERY).__next__)
    with monkeypatch.context() as full:
        full.setattr(ThreadPoolExecutor, "submit", refuse_thread)
        assert [limits.check([ANA]) for _ in range(2 * THREADS)] == [None] * 2 * THREADS
    assert bypassed.tally.unflushed() == {BypassReason.ERROR: 2 * THREADS}
    limits.check([ANA])
    assert store.asked == 1


def refuse_thread(*_args):
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("url", ["redis://127.0.0.1:99999999/0", "redis://h/0?socket_timeout=no"])
def test_an_address_that_cannot_be_read_lets_through(settings, monkeypatch, url):
    monkeypatch.setattr("quotas.ratelimit.limiter.BUDGET", AMPLE)
    settings.RATE_LIMITS, settings.REDIS_URL = "REDIS", url
    settings.Q_CLUSTER = {"name": "test"}
    assert [limiter().check([ANA]) for _ in range(20)] == [None] * 20
    assert bypassed.tally.unflushed() == {BypassReason.ERROR: 20}


def test_an_open_breaker_asks_once_in_a_while():
    clock = iter(n * PROBE_EVERY / 10 for n in range(10_000)).__next__
    store = Store(raises)
    limits = limiter_of(store, clock=clock, budget=None)
    for _ in range(FAILURES):
        limits.check([ANA])
    for _ in range(100):
        limits.check([ANA])
    assert store.asked < FAILURES + 15


def test_a_store_that_is_back_is_asked_again():
    times = [0.0]
    store = Store(raises)
    limits = limiter_of(store, clock=lambda: times[0])
    check_many(limits, 20)
    store.answer = lambda: True
    before = store.asked
    times[0] += PROBE_EVERY
    for _ in range(20):
        limits.check([ANA])
    assert store.asked == before + 20


def test_who_waits_for_a_thread_waits_no_longer_than_the_budget(monkeypatch):
    monkeypatch.setattr(breaker, "THREADS", 1)
    released = threading.Event()
    limits = limiter_of(Store(released.wait), budget=SHORT)
    with letting_go(released), within(5 * 5 * SHORT):
        check_many(limits, 5)


def test_a_crowd_too_large_for_the_threads_is_no_fault_of_the_store(monkeypatch):
    """Those who waited in vain pass unmeasured, and nobody after them."""
    monkeypatch.setattr(breaker, "THREADS", 1)
    store = Store(lambda: time.sleep(0.8) or True)
    limits = limiter_of(store, clock=lambda: 0.0, budget=4.0)
    with ThreadPoolExecutor(10) as crowd:
        list(crowd.map(lambda _: limits.check([ANA]), range(10)))
    assert how_many_unmeasured() == 10 - store.asked
    before = store.asked
    limits.check([ANA])
    assert store.asked == before + 1


def test_a_name_that_nobody_resolves_holds_up_nobody(settings, monkeypatch):
    """Looking it up has no time limit of its own."""
    settings.Q_CLUSTER = {"name": "test"}
    released, looked_up = threading.Event(), []

    def hang(*address, **_more):
        looked_up.append(address)
        released.wait()
        raise OSError

    monkeypatch.setattr("socket.getaddrinfo", hang)
    monkeypatch.setattr("quotas.ratelimit.limiter.BUDGET", SHORT)
    with letting_go(released), within(5 * 2 * SHORT * FAILURES):
        assert check_many(in_redis("redis://limits.example/0")) == [None] * MANY
    assert len(looked_up) <= THREADS
    assert bypassed.tally.unflushed() == {BypassReason.TIMEOUT: MANY}


@pytest.mark.redis
def test_a_store_that_was_never_there(settings):
    settings.Q_CLUSTER = {"name": "test"}
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        limits = in_redis(f"redis://127.0.0.1:{closed.getsockname()[1]}/0")
        assert check_many(limits) == [None] * MANY
    assert how_many_unmeasured() == MANY


@pytest.mark.redis
@pytest.mark.parametrize("way", WAYS)
def test_redis_fails_and_comes_back(relay, way):
    limits = in_redis(relay.url)
    wait_until(lambda: is_measured(limits))
    relay.way, before, unmeasured_before = way, relay.asked, how_many_unmeasured()
    relay.drop()
    begun = time.monotonic()
    assert check_many(limits) == [None] * MANY
    # A question to Redis is some requests of its client: the connection's, and up to six scripts.
    # Three failures, those under way, and a probe for each second since.
    probes = (time.monotonic() - begun) / PROBE_EVERY
    assert relay.asked - before <= 8 * (FAILURES + THREADS + probes)
    assert how_many_unmeasured() - unmeasured_before == MANY
    relay.way = "through"
    wait_until(lambda: any(limits.check([Window(RULE, "user 2")]) for _ in range(RULE.most + 1)))


@pytest.mark.redis
def test_of_answers_that_never_end_none_outlasts_the_store_that_gave_them(relay, monkeypatch):
    monkeypatch.setattr(breaker, "PROBE_EVERY", 0.01)
    limits = in_redis(relay.url)
    relay.way = "drip"
    wait_until(lambda: limits.check([ANA]) or relay.asked > 3 * THREADS)
    relay.way = "through"
    wait_until(lambda: is_measured(limits))


@pytest.mark.redis
def test_redis_that_forgot_the_script_is_told_it_again(redis_url, settings):
    settings.Q_CLUSTER = {"name": f"test-{uuid.uuid4()}"}
    limits = in_redis(redis_url)
    wait_until(lambda: is_measured(limits))
    with closing(redis.Redis.from_url(redis_url)) as store:
        store.script_flush()
    wait_until(lambda: any(limits.check([ANA]) for _ in range(RULE.most + 1)))


@pytest.mark.redis
def test_redis_that_goes_in_the_middle_of_a_request(relay):
    limits = in_redis(relay.url)
    killer = threading.Timer(0.05, relay.drop)
    relay_gone = threading.Timer(0.05, setattr, [relay, "way", "gone"])
    people = [Window(RULE, str(number)) for number in range(MANY)]
    relay_gone.start()
    killer.start()
    with ThreadPoolExecutor(20) as crowd:
        answers = list(crowd.map(lambda window: limits.check([window]), people))
    assert answers == [None] * MANY
    killer.join()
