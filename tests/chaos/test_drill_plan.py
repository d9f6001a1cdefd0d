"""A plan is replayed by its seed, and spares nothing; a clock leaps for everybody at once."""

from collections import Counter

import pytest

from jobs.core.faultpoints import POINTS
from providers.sandbox.faults import FAULTS
from providers.sandbox.framing import FRAMINGS
from tests.chaos import drill_process as short
from tests.drill.__main__ import PART
from tests.drill.clock import Clock
from tests.drill.plan import DEALT_OFTEN, KILLS, STOPS, STORES, TOLD_LATE, make_plan

ROUNDS = 2000
SENT = ("submit_answered",)
FETCHED = ("save_leased", "result_fetched", "picture_written")
PLAN = make_plan(1, ROUNDS, stores="postgres")


def test_a_seed_replays_the_injections():
    assert make_plan(7, 100, stores="sqlite") == make_plan(7, 100, stores="sqlite")


def test_another_seed_is_another_plan():
    first, second = (make_plan(seed, 100, stores="sqlite") for seed in (1, 2))
    assert first.rounds != second.rounds
    assert first.acts != second.acts


def test_both_stores_get_the_same_rounds():
    plans = [make_plan(3, 100, stores=stores) for stores in ("sqlite", "postgres")]
    assert plans[0].rounds == plans[1].rounds


def test_every_fault_is_dealt_evenly():
    dealt = Counter(each.fault for each in PLAN.rounds)
    for more_often in ("ok", *DEALT_OFTEN):
        del dealt[more_often]
    assert dealt.keys() == {fault.name for fault in FAULTS} - {"ok", *DEALT_OFTEN}
    assert max(dealt.values()) - min(dealt.values()) <= 1


def test_everybody_is_killed_stopped_and_restarted():
    met = {(act.kind, act.target) for act in PLAN.acts}
    wanted = {("kill", name) for name in KILLS} | {("stop", name) for name in STOPS}
    wanted |= {("store", name) for name in STORES["postgres"]}
    wanted |= {(f"point {action}", point) for action in ("kill", "stop") for point in POINTS}
    assert met == wanted


def parts_of(seed, rounds=200):
    """As `--mutants` looks: each part by the next seed."""
    sizes = [min(PART, rounds - done) for done in range(0, rounds, PART)]
    return [make_plan(seed + part, size, stores="sqlite") for part, size in enumerate(sizes)]


@pytest.mark.parametrize("seed", range(1, 400, 4))
def test_two_hundred_rounds_of_any_seed_meet_what_shows_a_defect(seed):
    parts = parts_of(seed)
    acts = Counter((act.kind, act.target) for part in parts for act in part.acts)
    told_late = [
        each
        for part in parts
        for each in part.rounds
        if each.fault in TOLD_LATE and each.refuses_fallback and not each.on_submit
    ]
    named = [
        each
        for part in parts
        for each in part.rounds
        if each.fault == "header_id" and each.on_submit in ("", "delay", "interim")
    ]
    swapped = [
        each
        for part in parts
        for each in part.rounds
        if (each.fault, each.on_poll) in (("ok", "swapped"), ("wrong_id", ""))
    ]
    assert len(swapped) >= 3
    assert len(told_late) >= 2
    assert len(named) >= 2
    assert sum(acts["point kill", point] + acts["point stop", point] for point in SENT) >= 2
    assert sum(acts["point stop", point] for point in FETCHED) >= 3


def test_the_drill_of_this_suite_hurts_in_every_way():
    plan = make_plan(short.SEED, short.ROUNDS, stores="sqlite")
    acts, rounds = {(act.kind, act.target) for act in plan.acts}, plan.rounds
    assert {("kill", "q-worker"), ("kill", "web"), ("point kill", "submit_answered")} <= acts
    assert acts & {("kill", "cluster"), ("kill", "second")}
    assert {"stop", "point stop", "store"} <= {kind for kind, _ in acts}
    hurt = {target for kind, target in acts if kind == "store"}
    assert "data read-only" in hurt
    assert hurt & {"media full", "media no inodes"}
    for way in ("on_submit", "on_poll", "on_file", "on_list", "on_hook"):
        assert any(getattr(each, way) for each in rounds)
    wires = {wire for each in rounds for wire in (each.on_submit, each.on_poll)}
    assert "interim" in wires
    assert wires & FRAMINGS.keys()
    assert any(each.on_poll == "swapped" and not each.on_submit for each in rounds)
    told = {each.fault for each in rounds if not each.on_submit and not each.refuses_fallback}
    assert {"json_5xx_executed", "header_id"} <= told
    polled = {each.fault for each in rounds if not each.on_submit and not each.on_poll}
    assert {"wrong_id", "late_output", "poll_429_after"} <= polled
    assert {"odd_shape", "url_expires"} <= {each.fault for each in rounds if not each.on_submit}


def test_each_round_has_a_model_of_its_own():
    assert len({each.model for each in PLAN.rounds}) == ROUNDS


def test_nobody_orders_more_than_a_visitor_may():
    assert max(len(rounds) for rounds in PLAN.customers().values()) == 3


def test_all_who_map_a_clock_leap_at_once(tmp_path):
    first = Clock.make(tmp_path / "clock")
    second = Clock(tmp_path / "clock")
    first.put_before_midnight(30)
    assert abs(second.until_midnight() - 30) < 1
    day = second.now().date()
    second.leap(31)
    assert first.now().date() > day
    assert abs(first.time() - second.time()) < 1
