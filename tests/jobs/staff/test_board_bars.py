"""The geometry of the bars: whole numbers that add up, and nothing that is there unseen."""

import pytest

from jobs.staff.dashboard.bars import HEIGHT, STEP, round_up, stack

PARTS = ("success", "pending", "failed")


def bars(*columns: tuple[int, ...]):
    titles = [f"day {number}" for number in range(len(columns))]
    return stack(titles=titles, columns=columns, parts=PARTS)


@pytest.mark.parametrize(
    ("most", "top"), [(0, 1), (1, 1), (2, 2), (3, 5), (7, 10), (11, 20), (501, 1000), (1000, 1000)]
)
def test_scale_is_a_number_to_remember(most, top):
    assert round_up(most) == top


def test_parts_stand_on_each_other_from_the_foot():
    (bar,) = bars((5, 3, 2)).bars
    assert [(part.part, part.y, part.height) for part in bar.segments] == [
        ("success", 61, 59),
        ("pending", 25, 36),
        ("failed", 1, 24),
    ]


def test_parts_of_nothing_are_not_drawn():
    empty, half = bars((0, 0, 0), (0, 4, 0)).bars
    assert empty.segments == ()
    assert [part.part for part in half.segments] == ["pending"]


@pytest.mark.parametrize("column", [(1_000_000, 1, 1), (999_998, 1, 1), (1, 999_998, 1)])
def test_one_of_a_million_is_seen(column):
    (bar,) = bars(column).bars
    assert [part.part for part in bar.segments] == list(PARTS)
    assert min(part.height for part in bar.segments) == 1


def test_bars_stand_side_by_side_in_their_box():
    chart = bars(*[(1, 0, 0)] * 30)
    assert chart.width == 30 * STEP
    lefts = [bar.x for bar in chart.bars]
    assert lefts == sorted(set(lefts))
    assert lefts[-1] + chart.bar_width <= chart.width


@pytest.mark.parametrize("column", [(7, 0, 3), (333, 333, 334), (1, 1, 1), (999_999, 1, 0)])
def test_no_bar_is_higher_than_its_box(column):
    for bar in bars(column, (1000, 0, 0)).bars:
        assert all(part.y >= 0 and part.height > 0 for part in bar.segments)
        assert sum(part.height for part in bar.segments) <= HEIGHT


def test_no_day_at_all_is_an_empty_chart():
    assert (bars().bars, bars().top) == ((), 1)
