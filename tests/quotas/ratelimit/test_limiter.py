"""The limiter: refuses exactly where the rule says, and lets through when it cannot tell."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import timedelta
from functools import partial

import pytest
import time_machine
from django.utils import timezone
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter

from quotas.ratelimit import bypassed
from quotas.ratelimit import memory as limiter_memory
from quotas.ratelimit.breaker import GuardedStore
from quotas.ratelimit.limiter import Limited, Limiter, Rule, Window, in_memory, in_redis
from quotas.states import BypassReason

RULE = Rule("pages", 5, timedelta(seconds=60))
ANA, BEN = Window(RULE, "user 1"), Window(RULE, "user 2")


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def limits(request, settings, monkeypatch) -> Limiter:
    """Of a Redis that has all the time it needs on a busy machine."""
    monkeypatch.setattr("quotas.ratelimit.limiter.BUDGET", 10.0)
    settings.Q_CLUSTER = {"name": f"test-{uuid.uuid4()}"}
    if request.param == "memory":
        return in_memory()
    return in_redis(request.getfixturevalue("redis_url"))


@pytest.fixture
def clock(now):
    with time_machine.travel(now, tick=False) as traveller:
        yield traveller


def spend(limits: Limiter, window: Window, many: int = RULE.most) -> None:
    assert [limits.check([window]) for _ in range(many)] == [None] * many


def test_one_more_than_the_rule_is_refused(limits, clock):
    spend(limits, ANA)
    assert limits.check([ANA]) == Limited(RULE, 60)


def test_refusal_says_when_one_more_is_let_through(limits, clock):
    spend(limits, ANA, 1)
    clock.shift(20)
    spend(limits, ANA, 4)
    refused = limits.check([ANA])
    clock.shift(refused.seconds - 1)
    assert limits.check([ANA]) == Limited(RULE, 1)
    clock.shift(1.01)
    assert limits.check([ANA]) is None


def test_no_stretch_of_time_holds_more_than_the_rule(limits, clock):
    clock.shift(59)
    spend(limits, ANA)
    clock.shift(2)
    assert limits.check([ANA]) == Limited(RULE, 58)


def test_refused_tries_do_not_count(limits, clock):
    spend(limits, ANA)
    for _ in range(20):
        clock.shift(1)
        assert limits.check([ANA])
    clock.shift(40.01)
    assert limits.check([ANA]) is None


def test_a_crowd_that_takes_all_room_as_it_comes_free_is_no_lie(limits, clock, monkeypatch):
    """Between the refusal and the look at its reason one hit goes out, and another comes in."""
    for _ in range(RULE.most):
        spend(limits, ANA, 1)
        clock.shift(0.1)
    clock.shift(59.45)
    look = MovingWindowRateLimiter.get_window_stats

    def look_late(counts, item, identifier):
        clock.shift(0.1)
        told = look(counts, item, identifier)
        counts.hit(RULE.item(), identifier)
        return told

    monkeypatch.setattr(MovingWindowRateLimiter, "get_window_stats", look_late)
    assert limits.check([ANA]) == Limited(RULE, 1)
    assert not bypassed.tally.unflushed()


@pytest.mark.redis
def test_processes_that_share_a_redis_count_together(redis_url, settings, monkeypatch, clock):
    monkeypatch.setattr("quotas.ratelimit.limiter.BUDGET", 10.0)
    settings.Q_CLUSTER = {"name": f"test-{uuid.uuid4()}"}
    here, there = in_redis(redis_url), in_redis(redis_url)
    spend(here, ANA, 2)
    spend(there, ANA, 3)
    assert here.check([ANA]) == there.check([ANA]) == Limited(RULE, 60)


def test_keys_never_share_a_window(limits, clock):
    spend(limits, ANA)
    assert limits.check([BEN]) is None


def test_rules_never_share_a_window(limits, clock):
    spend(limits, ANA)
    other = Rule("polls", RULE.most, RULE.within)
    assert limits.check([Window(other, ANA.key)]) is None


@pytest.mark.parametrize("key", ["user 1/5", "user 1 ", "USER 1", "user\x001", "", "é" * 5000])
def test_keys_that_look_alike_are_apart(limits, clock, key):
    spend(limits, ANA)
    assert limits.check([Window(RULE, key)]) is None


def test_first_full_window_refuses(limits, clock):
    narrow = Rule("orders", 2, timedelta(seconds=10))
    both = [ANA, Window(narrow, "user 1")]
    assert [limits.check(both) for _ in range(2)] == [None, None]
    assert limits.check(both) == Limited(narrow, 10)


def test_a_clock_that_is_set_back_refuses_nobody(limits, clock):
    spend(limits, ANA)
    clock.shift(-3600)
    assert limits.check([ANA]) is None


@pytest.mark.parametrize(("most", "seconds"), [(0, 60), (-1, 60), (5, 0)])
def test_a_bad_rule_lets_through(limits, most, seconds):
    bad = Window(Rule("bad", most, timedelta(seconds=seconds)), "user 1")
    assert [limits.check([bad]) for _ in range(10)] == [None] * 10
    assert bypassed.tally.unflushed() == {BypassReason.FAULT: 10}


def test_a_bad_rule_takes_no_other_along(limits, clock):
    test_a_bad_rule_lets_through(limits, 0, 60)
    spend(limits, ANA)
    assert limits.check([ANA])


def test_what_was_found_before_a_fault_counts(limits, clock):
    """Else whoever can cause one is not limited at all."""

    def windows():
        yield ANA
        raise ZeroDivisionError

    assert [limits.check(windows()) for _ in range(RULE.most)] == [None] * RULE.most
    assert limits.check(windows()) == Limited(RULE, 60)
    assert bypassed.tally.unflushed() == {BypassReason.FAULT: RULE.most + 1}


def test_a_rule_beside_a_bad_one_counts(limits, clock):
    bad = Window(Rule("bad", 0, timedelta(seconds=60)), "user 1")
    assert [limits.check([bad, ANA]) for _ in range(RULE.most)] == [None] * RULE.most
    assert limits.check([bad, ANA]) == Limited(RULE, 60)


def test_a_fault_in_finding_the_windows_lets_through(limits):
    assert limits.check(1 / 0 for _ in "x") is None
    assert bypassed.tally.unflushed() == {BypassReason.FAULT: 1}


def test_nothing_of_a_person_is_in_the_store(limits, clock):
    limits.check([ANA])
    assert "user" not in ANA.identifier


def test_who_waited_for_another_sees_what_that_one_did(clock):
    """Time went on while it waited, and what is later than now would not count."""
    memory = limiter_memory.BoundedMemory()

    class Lock:
        def __enter__(self) -> None:
            memory._lock = nullcontext()
            clock.shift(0.001)
            memory.acquire_entry("a", 5, 60)

        def __exit__(self, *_error) -> None: ...

    memory._lock = Lock()
    memory.acquire_entry("a", 5, 60)
    assert memory.get("a") == 2


def test_two_who_come_first_at_once_count_together(monkeypatch):
    both_are_here = threading.Barrier(2)

    def slow_memory(**options) -> limiter_memory.BoundedMemory:
        both_are_here.wait(timeout=30)
        return limiter_memory.BoundedMemory(**options)

    monkeypatch.setattr("quotas.ratelimit.limiter.BoundedMemory", slow_memory)
    limits, window = in_memory(), Window(Rule("once", 1, timedelta(seconds=60)), "user 1")
    with ThreadPoolExecutor(2) as crowd:
        answers = list(crowd.map(lambda _: limits.check([window]), range(2)))
    assert answers.count(None) == 1


def test_many_at_once_are_let_through_as_often_as_the_rule_says():
    limits, rule = in_memory(), Rule("pages", 200, timedelta(seconds=60))
    with ThreadPoolExecutor(16) as crowd:
        answers = list(crowd.map(lambda _: limits.check([Window(rule, "user 1")]), range(4000)))
    assert answers.count(None) == 200


def test_memory_holds_a_bounded_number_of_keys(clock):
    memory = limiter_memory.BoundedMemory(most_keys=100)
    for number in range(1000):
        assert memory.acquire_entry(f"key {number}", 5, 60)
    assert len(memory) == 100


def test_memory_holds_nobody_who_came_a_window_ago(clock):
    memory = limiter_memory.BoundedMemory()
    for number in range(1000):
        memory.acquire_entry(f"key {number}", 5, 60)
    clock.shift(61)
    for _ in range(1000):
        memory.acquire_entry("another", 1000, 60)
    assert len(memory) == 1


def test_who_came_later_is_not_forgotten_with_them(clock):
    memory = limiter_memory.BoundedMemory()
    memory.acquire_entry("first", 5, 60)
    clock.shift(30)
    memory.acquire_entry("second", 5, 60)
    clock.shift(31)
    memory.acquire_entry("third", 5, 60)
    assert [memory.get(key) for key in ("first", "second", "third")] == [0, 1, 1]


def test_a_key_that_still_counted_and_had_to_go_is_told(clock):
    told = []
    memory = limiter_memory.BoundedMemory(most_keys=1, on_evict=lambda: told.append(1))
    memory.acquire_entry("a", 5, 60)
    clock.shift(61)
    memory.acquire_entry("b", 5, 60)
    assert told == []
    memory.acquire_entry("c", 5, 60)
    assert told == [1]


def test_a_full_memory_lets_through(clock):
    evicted = partial(bypassed.count, BypassReason.FULL)
    memory = limiter_memory.BoundedMemory(most_keys=2, on_evict=evicted)
    limits = Limiter(lambda rule: MovingWindowRateLimiter(memory), GuardedStore(budget=None))
    assert [limits.check([Window(RULE, str(n))]) for n in range(50)] == [None] * 50
    assert bypassed.tally.unflushed() == {BypassReason.FULL: 48}


def test_a_window_that_went_out_between_hit_and_look_breaks_nothing(clock):
    memory = limiter_memory.BoundedMemory()
    memory.acquire_entry("a", 1, 60)
    clock.shift(61)
    assert memory.get_moving_window("a", 1, 60)[1] == 0
    assert memory.acquire_entry("b", 1, 60)
    assert len(memory) == 1


def test_what_the_library_counts_by_fixed_windows_is_counted_too(clock):
    counts = FixedWindowRateLimiter(limiter_memory.BoundedMemory())
    item = RULE.item()
    assert [counts.hit(item, "a") for _ in range(6)] == [True] * 5 + [False]
    assert counts.get_window_stats(item, "a").remaining == 0
    assert counts.get_window_stats(item, "a").reset_time == timezone.now().timestamp() + 60
    clock.shift(60.01)
    assert counts.test(item, "a")
    assert counts.get_window_stats(item, "a").reset_time == timezone.now().timestamp()
