"""The run that a test picture belongs to, painted into its lowest pixels.

64 blocks, dark for 0 and light for 1: the number of the run in 60 bits, and a check of 4. It
survives a conversion to another format, so a picture proves which run made it.
"""

from PIL import Image, ImageDraw

HEIGHT = 8
BITS = 64
DARK, LIGHT = (16, 18, 28), (232, 234, 240)


def paint_run(picture: Image.Image, run: str) -> None:
    """`run` is an id of the sandbox: `gen_` and 18 digits."""
    ink = ImageDraw.Draw(picture)
    width = picture.width // BITS
    for place, bit in enumerate(f"{_with_check(int(run.removeprefix('gen_'))):0{BITS}b}"):
        left, top = place * width, picture.height - HEIGHT
        box = (left, top, left + width - 1, picture.height - 1)
        ink.rectangle(box, fill=LIGHT if bit == "1" else DARK)


def read_run(picture: Image.Image) -> str | None:
    """None where no run is painted."""
    grey = _as_grey(picture)
    width, row = grey.width // BITS, grey.height - HEIGHT // 2
    lights = [grey.getpixel((place * width + width // 2, row)) for place in range(BITS)]
    code = int("".join("1" if int(light) > 127 else "0" for light in lights), 2)  # type: ignore[arg-type]
    number = code >> 4
    return f"gen_{number:018}" if _with_check(number) == code else None


def _with_check(number: int) -> int:
    # Never zero, so that a dark picture has no code.
    return number << 4 | (number % 15 + 1)


def _as_grey(picture: Image.Image) -> Image.Image:
    """Pillow clips 16 bits in place of scaling them."""
    if picture.mode.startswith("I"):
        picture = picture.convert("I").point(lambda value: value * (1 / 256))
    return picture.convert("L")
