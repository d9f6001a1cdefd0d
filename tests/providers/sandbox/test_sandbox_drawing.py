"""The test picture: deterministic, of the size asked for, really a PNG, for any prompt."""

from io import BytesIO

import pytest
from PIL import Image

from providers.sandbox.drawing import (
    ASPECT_RATIOS,
    _paint_scene,
    caption_for,
    draw_picture,
    paint_picture,
    size_for,
)
from providers.sandbox.run_code import read_run


def opened(prompt, aspect_ratio="1:1"):
    picture = Image.open(BytesIO(draw_picture(prompt, aspect_ratio)))
    picture.load()
    return picture


def test_the_same_prompt_gives_the_same_bytes():
    first = draw_picture("a lighthouse")
    _paint_scene.cache_clear()
    assert draw_picture("a lighthouse") == first


@pytest.mark.parametrize("aspect_ratio", ASPECT_RATIOS)
@pytest.mark.parametrize("file_format", ["PNG", "JPEG"])
def test_a_picture_carries_the_id_of_its_run(aspect_ratio, file_format):
    run, out = "gen_012345678901234567", BytesIO()
    paint_picture("a harbour", aspect_ratio, run=run).save(out, file_format)
    assert read_run(Image.open(out)) == run


def test_a_picture_without_a_run_carries_none():
    assert read_run(opened("a harbour")) is None


def test_another_prompt_gives_another_picture():
    assert draw_picture("a lighthouse") != draw_picture("a light house")


@pytest.mark.parametrize("aspect_ratio", ASPECT_RATIOS)
def test_the_size_follows_the_aspect_ratio(aspect_ratio):
    picture = opened("a harbour", aspect_ratio)
    across, down = map(int, aspect_ratio.split(":"))
    assert picture.format == "PNG"
    assert picture.size == size_for(aspect_ratio)
    assert max(picture.size) == 1024
    assert picture.width / picture.height == pytest.approx(across / down, rel=0.01)


@pytest.mark.parametrize("prompt", ["a", "лиса в тумане", "🦊", "x" * 20_000, "line\nline\0", "  "])
def test_any_prompt_can_be_drawn(prompt):
    assert opened(prompt).size == (1024, 1024)


def test_the_label_is_light_on_dark():
    band = opened("a fox").crop((0, 1024 - 116, 400, 1024)).convert("L")
    dark, light = band.getextrema()
    assert dark < 90
    assert light > 240


@pytest.mark.parametrize(
    ("prompt", "caption"),
    [
        ("a fox in fog", "a fox in fog"),
        ("many words " * 20, "many words many words many words many words many ..."),
        ("лиса", "prompt abcdef012345"),
    ],
)
def test_the_caption_is_the_first_words(prompt, caption):
    assert caption_for(prompt, "abcdef0123456789") == caption
