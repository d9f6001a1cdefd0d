"""The geometry of a chart of stacked bars: whole numbers in the units of its view box."""

from collections.abc import Sequence
from dataclasses import dataclass

STEP, WIDTH, HEIGHT = 20, 14, 120


@dataclass(frozen=True)
class Segment:
    part: str
    y: int
    height: int


@dataclass(frozen=True)
class Bar:
    title: str
    x: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Chart:
    bars: tuple[Bar, ...]
    top: int
    """The value of the full height."""

    step: int = STEP
    bar_width: int = WIDTH
    height: int = HEIGHT

    @property
    def width(self) -> int:
        return self.step * len(self.bars)


def stack(
    *, titles: Sequence[str], columns: Sequence[Sequence[int]], parts: Sequence[str]
) -> Chart:
    """A bar for each title; the first of the parts at its foot. What is not nothing is seen: one
    unit of height shows that there is a value; the rest shows how large it is."""
    top = round_up(max(map(sum, columns), default=0))
    bars = (
        Bar(title, number * STEP + (STEP - WIDTH) // 2, _segments(column, parts, top))
        for number, (title, column) in enumerate(zip(titles, columns, strict=True))
    )
    return Chart(tuple(bars), top)


def round_up(most: int) -> int:
    """1, 2 or 5 with noughts behind it, so that the scale is a number to remember."""
    power = 10 ** (len(str(max(1, most))) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= most)


def _segments(column: Sequence[int], parts: Sequence[str], top: int) -> tuple[Segment, ...]:
    segments, foot = [], HEIGHT
    for part, count in zip(parts, column, strict=True):
        if count:
            height = 1 + (HEIGHT - len(parts)) * count // top
            foot -= height
            segments.append(Segment(part, foot, height))
    return tuple(segments)
