"""The saboteur is at work until every point was met or missed and every sleeper was woken."""

from types import SimpleNamespace

import pytest

from tests.drill.plan import Act
from tests.drill.records import Log
from tests.drill.saboteur import Saboteur

UNDONE: list[str] = []


@pytest.fixture
def saboteur(tmp_path):
    UNDONE.clear()
    house = SimpleNamespace(point_file=tmp_path / "point", wake_all=lambda: None)
    stores = SimpleNamespace(hurt=lambda what, pick: lambda: UNDONE.append(what))
    return Saboteur(house, stores, Log(lambda: 0.0))


def test_what_could_not_be_done_is_said(saboteur):
    def refuse(what, pick):
        raise OSError(22, "Invalid argument")

    saboteur.stores.hurt = refuse
    saboteur.act(Act(0, "store", "media full", seconds=1))
    assert saboteur.failed == {"store media full": "Invalid argument"}
    assert not saboteur.done


def test_a_read_only_disk_is_noticed_by_whoever_opens_it_anew(saboteur):
    killed = []
    saboteur.house.target = lambda name, pick: killed.append(name)
    saboteur.act(Act(0, "store", "data read-only", seconds=1))
    assert killed == ["cluster", "ticker", "web"]


def test_what_lasts_is_waited_for(saboteur):
    saboteur.act(Act(0, "store", "lock", seconds=60))
    saboteur.tend()
    assert saboteur.is_at_work()
    assert UNDONE == []


def test_what_is_over_is_undone(saboteur):
    saboteur.act(Act(0, "store", "lock", seconds=0))
    saboteur.tend()
    assert not saboteur.is_at_work()
    assert UNDONE == ["lock"]


def test_a_point_that_nobody_reached_is_waited_for(saboteur, tmp_path):
    saboteur.act(Act(0, "point kill", "submit_answered"))
    assert saboteur.is_at_work()
    saboteur.tend()
    assert (tmp_path / "point").read_text() == "submit_answered:kill"
    assert saboteur.is_at_work()


def test_a_point_that_was_met_is_noted(saboteur, tmp_path):
    saboteur.act(Act(0, "point kill", "submit_answered"))
    saboteur.tend()
    (tmp_path / "point").rename(tmp_path / "point.hit")
    saboteur.tend()
    assert saboteur.done["point kill submit_answered"] == 1
    assert not saboteur.is_at_work()


def test_healed_it_leaves_nothing_armed(saboteur, tmp_path):
    saboteur.act(Act(0, "point kill", "submit_answered"))
    saboteur.act(Act(0, "store", "lock", seconds=60))
    saboteur.tend()
    saboteur.heal()
    assert not saboteur.is_at_work()
    assert UNDONE == ["lock"]
    assert not (tmp_path / "point").exists()
