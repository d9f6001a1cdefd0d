"""A picture of many pixels and few bytes does not fill the web process's memory."""

import io
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.conf import settings as ours
from PIL import Image

from jobs.pictures import thumbnails
from tests import rows

MEGAPIXELS_80 = (10_000, 8_000)
MOST_GROWTH = 300 * 2**20
MEASURE = """
import re, sys, uuid
from types import SimpleNamespace
import django
django.setup()
from jobs.pictures import thumbnails
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
picture = SimpleNamespace(pk=uuid.uuid4(), file=sys.argv[1])
open("/proc/self/clear_refs", "w").write("5")
before = peak()
content = thumbnails.make_thumbnail(picture)
print(len(content or b""), before, peak())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("large") / "media"


@pytest.fixture(scope="module", params=["RGB", "RGBA"])
def large(request, folder) -> str:
    folder.mkdir(exist_ok=True)
    name = f"{request.param}.png"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new(request.param, MEGAPIXELS_80, 128).save(folder / name, "PNG", exif=exif)
    return name


def test_a_thumbnail_of_80_megapixels_leaves_the_web_process_small(folder, large):
    environment = {"DATA_DIR": str(folder.parent), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, large],
        cwd=ours.BASE_DIR,
        env={**environment, "PATH": "", "PYTHONPATH": str(ours.BASE_DIR)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    size, before, peak = map(int, measured.stdout.split())
    print(f"{large}: {before / 2**20:.0f} MB before, {peak / 2**20:.0f} MB at most")
    assert size > 0
    assert peak - before < MOST_GROWTH


@pytest.fixture
def drawn(settings, tmp_path):
    """drawn(image): the small picture of a file with this content."""

    def drawn(image: Image.Image, kind: str = "PNG", **options) -> Image.Image:
        image.save(tmp_path / "original", kind, **options)
        content = thumbnails._draw_in_turn(tmp_path / "original")
        return Image.open(io.BytesIO(content))

    return drawn


@pytest.mark.parametrize("large", [0, 10**9], ids=["apart", "here"])
def test_it_lies_as_its_camera_held_it_however_it_is_drawn(drawn, monkeypatch, large):
    monkeypatch.setattr(thumbnails, "LARGE", large)
    exif = Image.Exif()
    exif[0x0112] = 6
    assert drawn(Image.new("RGB", (1600, 800)), exif=exif).size == (240, 480)


def test_one_that_needs_more_memory_than_there_may_be_is_not_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(thumbnails, "MOST_BYTES", 200 * 2**20)
    Image.new("RGB", (9_000, 9_000)).save(tmp_path / "large.png")
    with pytest.raises(thumbnails.NotDrawn):
        thumbnails._draw_in_turn(tmp_path / "large.png")


@pytest.mark.django_db
def test_what_could_not_be_drawn_is_shown_whole_and_not_tried_again(
    ana_client, account, now, settings, monkeypatch
):
    picture = rows.ready(account, now).pictures.get()
    tries = []

    def fail(*args, **options):
        tries.append(1)
        raise OSError

    monkeypatch.setattr(thumbnails, "open_upright", fail)
    answers = [ana_client.get(f"/images/{picture.pk}/small") for _ in range(3)]
    assert {answer["Location"] for answer in answers} == {f"/images/{picture.pk}/file"}
    assert tries == [1]


def test_large_ones_are_drawn_one_at_a_time(tmp_path, monkeypatch):
    at_once, most = [], []

    def draw_apart(*_):
        at_once.append(1)
        most.append(len(at_once))
        threading.Event().wait(0.05)
        at_once.pop()
        return b"small"

    monkeypatch.setattr(thumbnails, "_draw_apart", draw_apart)
    monkeypatch.setattr(thumbnails, "LARGE", 0)
    Image.new("RGB", (8, 8)).save(tmp_path / "original", "PNG")
    people = [
        threading.Thread(target=thumbnails._draw_in_turn, args=[tmp_path / "original"])
        for _ in range(4)
    ]
    for each in people:
        each.start()
    for each in people:
        each.join()
    assert most == [1, 1, 1, 1]
