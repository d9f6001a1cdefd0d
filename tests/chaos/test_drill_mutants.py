"""The drill with a planted defect."""

import pytest

from tests.chaos.drill_process import ROUNDS, SEED, drill, outcome_of

pytestmark = pytest.mark.site

# (planted, found as, seed, rounds): each seed's plan meets the defect several times.
PLANTED = [("unknown-failed", "executed twice", SEED, ROUNDS), ("no-ids", "wrong picture", 708, 14)]


@pytest.mark.parametrize(("mutant", "kind", "seed", "rounds"), PLANTED)
def test_a_planted_defect_is_found(tmp_path, mutant, kind, seed, rounds):
    code, said = outcome_of(drill(tmp_path, "--mutant", mutant, seed=seed, rounds=rounds))
    assert code == 1, said
    assert f"{kind}: " in said
