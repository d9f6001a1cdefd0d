"""A page and what it loads stay light."""

import pytest

from tests.weight import MOST_OF_A_PAGE, MOST_OF_OWN_SCRIPTS, own_scripts, table, weigh

pytestmark = [pytest.mark.chromium, pytest.mark.site]


@pytest.fixture(scope="module")
def weights(room):
    return weigh(room)


def test_heaviest_page_is_within_the_bound(weights):
    heaviest = next(iter(weights.values()))
    assert heaviest.total == max(weight.total for weight in weights.values())
    assert heaviest.total <= MOST_OF_A_PAGE


def test_every_part_of_a_page_is_weighed(weights):
    assert all((weights["home"].html, weights["home"].styles, weights["home"].scripts))


def test_table_has_a_line_for_each_page(weights):
    lines = table(weights).splitlines()
    assert [line.split()[0] for line in lines[1:-2]] == list(weights)


def test_own_scripts_are_within_the_bound():
    assert 0 < own_scripts() <= MOST_OF_OWN_SCRIPTS
