"""Half a minute of the drill as it is."""

import pytest

from tests.chaos.drill_process import drill, outcome_of

pytestmark = pytest.mark.site

OF_ANSWERS = ("wrong pictures", "results lost", "polled in silence", "fetched in vain")
# What depends on nothing but that the drill goes on.
MET = ("kill q-worker", "kill cluster", "kill web", "stop q-worker", "wire submit")
ON_DISKS = ("store data read-only", "store media full")


def test_a_site_that_is_hurt_in_every_way_keeps_its_books(tmp_path):
    code, said = outcome_of(drill(tmp_path))
    assert code == 0, said
    for nothing in ("executed twice", "oversold", "undersold", "slots lost", "stuck", *OF_ANSWERS):
        assert f"\n{nothing} 0\n" in said
    done = said.partition("injected:")[2].partition("ends:")[0].replace("\n   ", "")
    met = MET if "NOT INJECTED" in said else MET + ON_DISKS
    assert [way for way in met if way not in done] == []
    assert list(tmp_path.iterdir()) == []
