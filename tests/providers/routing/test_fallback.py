"""Who may be asked next: the whole table, as a pure function of the calls before."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product

import pytest

from providers.adapters.registry import Offer
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.routing.fallback import may_be_repeated, rule_after
from providers.routing.pool import candidates
from tests.fakes import ACCOUNT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIRST, SECOND, THIRD = Offer("a", "m"), Offer("b", "m"), Offer("c", "m")
REFUSED = {"why": "auth", "rule": "refused", "cost": Decimal(0)}
BUSY = {"why": "rate", "rule": "too_many", "cost": Decimal(0)}


@pytest.fixture(autouse=True)
def pool(settings):
    settings.IMAGE_FALLBACK = [str(SECOND), str(THIRD)]
    settings.PROVIDER_ACCOUNTS = dict.fromkeys("abc", ACCOUNT)


def call(state: str, offer: Offer = FIRST, **columns) -> Call:
    ended_at = NOW if state in ("succeeded", "rejected", "failed", "given_up") else None
    columns = {"ended_at": ended_at, **columns}
    return Call(work="image:1", provider=offer.provider, model=offer.model, state=state, **columns)


def busy(offer: Offer = FIRST, *, seconds: float = 30) -> Call:
    return call("rejected", offer, **BUSY, again_at=NOW + timedelta(seconds=seconds))


def asked(*calls: Call) -> list[Offer]:
    return [candidate.offer for candidate in candidates(FIRST, calls)]


@pytest.mark.parametrize("state", ["sending", "accepted", "unknown", "succeeded", "given_up"])
@pytest.mark.parametrize("after_billed", [True, False])
def test_nothing_follows_what_may_have_been_billed(state, after_billed):
    assert rule_after(call(state, cost=Decimal(0)), after_billed=after_billed) == ""


def test_a_rejection_is_followed_under_the_rule_that_proved_it():
    assert rule_after(call("rejected", **REFUSED), after_billed=False) == "refused"


@pytest.mark.parametrize(
    ("cost", "after_billed", "rule"),
    [
        (Decimal(0), False, "failed_for_nothing"),
        (Decimal(0), True, "failed_for_nothing"),
        (Decimal("0.01"), False, ""),
        (Decimal("0.01"), True, "failed_billed"),
        (None, False, ""),
        (None, True, "failed_billed"),
    ],
)
def test_a_failure_is_followed_by_what_it_cost(cost, after_billed, rule):
    assert rule_after(call("failed", cost=cost), after_billed=after_billed) == rule


@pytest.mark.parametrize("state", ["rejected", "failed", "given_up"])
def test_nothing_follows_what_was_made_after_all(state):
    made_late = call(state, cost=Decimal(0), rule="refused", late_outcome="succeeded")
    assert rule_after(made_late, after_billed=True) == ""


@pytest.mark.parametrize(
    ("late", "cost", "rule"),
    [
        ("accepted", None, ""),
        ("failed", None, "failed_billed"),
        ("failed", Decimal("0.01"), "failed_billed"),
        ("failed", Decimal(0), "failed_for_nothing"),
    ],
)
def test_a_rejection_counts_as_what_late_news_say_of_it(late, cost, rule):
    belied = call("rejected", rule="own_enqueue_error", cost=cost, late_outcome=late)
    assert rule_after(belied, after_billed=True) == rule
    assert rule_after(belied, after_billed=False) == rule.replace("failed_billed", "")


def test_only_a_busy_provider_or_our_own_sleep_lets_the_same_be_asked_again():
    assert may_be_repeated(busy())
    assert may_be_repeated(
        call("rejected", why="transport", rule="send_window_missed", cost=Decimal(0))
    )
    assert not may_be_repeated(call("rejected", **REFUSED))
    assert not may_be_repeated(call("failed", why="rate", cost=Decimal(0)))


def test_the_chosen_one_is_asked_first():
    assert asked() == [FIRST, SECOND, THIRD]
    assert [found.rule for found in candidates(FIRST, [])] == ["", "paused", "paused"]


def test_without_a_setting_nobody_else_is_asked(settings):
    settings.IMAGE_FALLBACK = []
    assert asked() == [FIRST]
    assert asked(call("rejected", **REFUSED)) == []


def test_who_left_the_settings_is_not_asked(settings):
    settings.PROVIDER_ACCOUNTS = dict.fromkeys("bc", ACCOUNT)
    assert asked() == [SECOND, THIRD]
    assert asked(busy()) == [SECOND, THIRD]


def test_who_refused_is_not_asked_again():
    assert asked(call("rejected", **REFUSED)) == [SECOND, THIRD]
    assert asked(call("rejected", **REFUSED), call("rejected", SECOND, **REFUSED)) == [THIRD]


def test_a_fallback_names_the_call_and_the_rule():
    refused = call("rejected", **REFUSED)
    found = candidates(FIRST, [refused])[0]
    assert (found.after, found.rule) == (refused, "refused")


def test_who_was_busy_keeps_its_turn_and_is_left_alone_as_long_as_it_said():
    found = candidates(FIRST, [busy(seconds=90)])
    assert [candidate.offer for candidate in found] == [FIRST, SECOND, THIRD]
    assert found[0].not_before == NOW + timedelta(seconds=90)
    assert found[1].not_before is None


def test_each_refusal_of_a_work_waits_longer_than_the_last(settings):
    settings.IMAGE_FALLBACK = []
    waits = []
    for refusals in range(1, 8):
        found = candidates(FIRST, [busy(seconds=0)] * refusals)
        waits.append((found[0].not_before - NOW).total_seconds())
    assert waits == [2, 4, 8, 16, 30, 30, 30]


def test_the_chosen_one_is_asked_once_although_it_is_a_fallback_too(settings):
    settings.IMAGE_FALLBACK = [str(SECOND), str(FIRST)]
    assert asked() == [FIRST, SECOND]


def test_no_chain_of_two_outcomes_asks_a_third_after_what_may_have_been_billed():
    costs = [None, Decimal(0), Decimal(5)]
    for first, second in product(product(CallState.values, costs), repeat=2):
        calls = [
            call(state, offer, cost=cost, rule="refused")
            for (state, cost), offer in zip((first, second), (FIRST, SECOND), strict=True)
        ]
        surely_free = all(
            made.state == "rejected" or (made.state == "failed" and made.cost == 0)
            for made in calls
        )
        assert bool(asked(*calls)) == surely_free
