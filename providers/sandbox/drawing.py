"""A picture from a prompt, without any AI: the same prompt always gives the same drawing, and
each run's picture carries its id."""

import colorsys
import hashlib
import random
import textwrap
from functools import lru_cache
from io import BytesIO
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from providers.sandbox.run_code import paint_run

LONG_SIDE = 1024
ASPECT_RATIOS = ("1:1", "3:2", "2:3", "4:3", "3:4", "5:4", "4:5", "16:9", "9:16", "21:9")
LABEL = "TEST PICTURE"

Colour = tuple[int, int, int]


def draw_picture(prompt: str, aspect_ratio: str = "1:1", *, run: str = "") -> bytes:
    """PNG bytes. `aspect_ratio` is one of ASPECT_RATIOS."""
    out = BytesIO()
    paint_picture(prompt, aspect_ratio, run=run).save(out, "PNG", compress_level=1)
    return out.getvalue()


def paint_picture(prompt: str, aspect_ratio: str = "1:1", *, run: str = "") -> Image.Image:
    picture = _paint_scene(prompt, aspect_ratio).copy()
    if run:
        paint_run(picture, run)
    return picture


@lru_cache(maxsize=16)
def _paint_scene(prompt: str, aspect_ratio: str) -> Image.Image:
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    chance = random.Random(digest)
    palette = _choose_palette(chance)
    picture = _paint_sky(chance, palette, size_for(aspect_ratio))
    ink = ImageDraw.Draw(picture, "RGBA")
    _paint_sun(ink, chance, palette, picture.size)
    _paint_hills(ink, chance, palette, picture.size)
    _paint_birds(ink, chance, picture.size)
    _write_label(ink, picture.size, caption_for(prompt, digest))
    return picture


def size_for(aspect_ratio: str) -> tuple[int, int]:
    across, down = (int(part) for part in aspect_ratio.split(":"))
    scale = LONG_SIDE / max(across, down)
    return round(across * scale), round(down * scale)


def caption_for(prompt: str, digest: str) -> str:
    """The prompt's first words; its digest where the built-in font has no glyphs for them."""
    words = textwrap.shorten(prompt, 56, placeholder=" ...")
    return words if words and words.isascii() else f"prompt {digest[:12]}"


def _choose_palette(chance: random.Random) -> list[Colour]:
    """Five colours around one hue, from the light of the sky to the dark of the near hills."""
    hue = chance.random()
    turn = chance.choice((-0.12, -0.08, 0.08, 0.12))
    steps = ((0.93, 0.45), (0.82, 0.55), (0.62, 0.6), (0.42, 0.5), (0.2, 0.5))
    return [
        _colour(hue + turn * number, lightness, saturation)
        for number, (lightness, saturation) in enumerate(steps)
    ]


def _colour(hue: float, lightness: float, saturation: float) -> Colour:
    red, green, blue = colorsys.hls_to_rgb(hue % 1, lightness, saturation)
    return round(red * 255), round(green * 255), round(blue * 255)


def _paint_sky(chance: random.Random, palette: list[Colour], size: tuple[int, int]) -> Image.Image:
    """A few random patches of colour, stretched into a smooth gradient."""
    patches = Image.new("RGB", (4, 4))
    for x in range(4):
        for y in range(4):
            patches.putpixel((x, y), palette[chance.choice(((1, 2), (1, 1), (0, 1), (0, 0))[y])])
    return patches.resize(size, Image.Resampling.BICUBIC)


def _paint_sun(
    ink: ImageDraw.ImageDraw, chance: random.Random, palette: list[Colour], size: tuple[int, int]
) -> None:
    width, height = size
    x, y = width * chance.uniform(0.2, 0.8), height * chance.uniform(0.18, 0.45)
    radius = min(size) * chance.uniform(0.08, 0.16)
    for ring in (2.6, 2.0, 1.5):
        _circle(ink, x, y, radius * ring, (*palette[0], 36))
    _circle(ink, x, y, radius, (255, 252, 240, 235))
    for _ in range(chance.randint(5, 9)):
        far = chance.uniform(0.02, 0.07) * min(size)
        place = chance.uniform(0, width), chance.uniform(0, height * 0.5)
        _circle(ink, *place, far, (*palette[chance.choice((0, 2))], 48))


def _circle(ink: ImageDraw.ImageDraw, x: float, y: float, radius: float, fill: tuple) -> None:
    ink.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def _paint_hills(
    ink: ImageDraw.ImageDraw, chance: random.Random, palette: list[Colour], size: tuple[int, int]
) -> None:
    width, height = size
    for layer, colour in enumerate((palette[2], palette[3], palette[4])):
        base = height * (0.52 + 0.14 * layer)
        ridge = _ridge(chance, width, base, height * (0.2 - 0.04 * layer))
        ink.polygon([(0, height), *ridge, (width, height)], fill=(*colour, 225))


def _ridge(
    chance: random.Random, width: int, base: float, swing: float
) -> list[tuple[float, float]]:
    """A mountain line by midpoint displacement: 65 points from left to right."""
    heights = [chance.uniform(-1, 1) * swing, chance.uniform(-1, 1) * swing]
    while len(heights) < 65:
        swing *= 0.55
        middles = [
            (left + right) / 2 + chance.uniform(-1, 1) * swing for left, right in pairwise(heights)
        ]
        heights = [value for pair in zip(heights, [*middles, 0], strict=True) for value in pair][
            :-1
        ]
    return [(width * step / 64, base - rise) for step, rise in enumerate(heights)]


def _paint_birds(ink: ImageDraw.ImageDraw, chance: random.Random, size: tuple[int, int]) -> None:
    width, height = size
    for _ in range(chance.randint(3, 7)):
        x, y = chance.uniform(0.1, 0.9) * width, chance.uniform(0.1, 0.4) * height
        wing = chance.uniform(8, 18)
        box = (y - wing / 2, y + wing / 2)
        ink.arc((x - 2 * wing, box[0], x, box[1]), 200, 340, (30, 30, 40, 190), 3)
        ink.arc((x, box[0], x + 2 * wing, box[1]), 200, 340, (30, 30, 40, 190), 3)


def _write_label(ink: ImageDraw.ImageDraw, size: tuple[int, int], caption: str) -> None:
    width, height = size
    band = 116
    ink.rectangle((0, height - band, width, height), fill=(16, 18, 28, 185))
    ink.text((28, height - band + 16), LABEL, "white", ImageFont.load_default(42))
    small = ImageFont.load_default(min(26, 2 * (width - 56) / max(len(caption), 1)))
    ink.text((28, height - 44), caption, (230, 232, 240, 255), small)
