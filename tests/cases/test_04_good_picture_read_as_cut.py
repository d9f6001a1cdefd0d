"""Case 04: pictures that every browser shows are delivered, whatever their metadata holds."""

import base64
import gzip
import io
import struct
import zlib
from datetime import timedelta

import pytest
from django.utils import timezone
from PIL import Image, PngImagePlugin

from jobs.core.models import Picture, Stage, UnreadResult
from jobs.engine import incoming
from providers.calls.models import Call
from providers.outcomes import Artifact, Done
from providers.wire.picture_files import Cut, Fetched, Unreadable, open_upright, read_picture
from tests import working
from tests.providers.wire.test_download import read_inline

SIZE = (64, 48)
NOISE = Image.effect_noise(SIZE, 60).convert("RGB")


def draw(format="PNG", image=NOISE, **options):
    out = io.BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def chunk(name, data, *, crc=None):
    crc = zlib.crc32(name + data) if crc is None else crc
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def png_with(*chunks, before=b"IDAT"):
    whole = draw()
    at = whole.index(before) - 4
    return whole[:at] + b"".join(chunks) + whole[at:]


def big_text(zip):
    info = PngImagePlugin.PngInfo()
    info.add_text("workflow", "node " * 240_000, zip=zip)
    return draw(pnginfo=info)


def exif(value, kind=3, many=1, order=">"):
    """One entry: the orientation, in the given form."""
    head = b"MM\0*" if order == ">" else b"II*\0"
    entry = struct.pack(f"{order}HHHI", 1, 0x0112, kind, many) + struct.pack(f"{order}HH", value, 0)
    return b"Exif\0\0" + head + struct.pack(f"{order}I", 8) + entry + bytes(4)


PNG_BEGINS = b"\x89PNG\r\n\x1a\n"
JPEG = draw("JPEG", quality=90)
AS_THEY_ARE = {
    "png with a text that unpacks to more than 1 MiB": big_text(zip=True),
    "png with a plain text of 1.2 MB": big_text(zip=False),
    "png with a profile of 1.5 MB": draw(icc_profile=bytes(1_500_000)),
    "png with a profile that cannot be unpacked": png_with(chunk(b"iCCP", b"x\0\0junk")),
    "png with a wrong checksum in a text": png_with(chunk(b"tEXt", b"a\0b", crc=1)),
    "png with a bomb in a text": png_with(chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2**27)))),
    "png with broken utf-8 in a text": png_with(chunk(b"iTXt", b"a\0\0\0\0\0\xff\xfe")),
    "png with a short header of a moving one": png_with(chunk(b"acTL", b"\0")),
    "png with an unknown chunk": png_with(chunk(b"abCd", bytes(100), crc=5)),
    "png without its end": draw()[:-12],
    "png with half an end": draw()[:-5],
    "png with data behind its end": draw() + b"<html>" * 100,
    "png cut within a text behind its pixels": draw()[:-12] + chunk(b"tEXt", bytes(900))[:300],
    "interlaced 16 bits": draw(image=Image.new("I;16", SIZE, 40_000)),
    "grey and alpha": draw(image=NOISE.convert("LA")),
    "palette": draw(image=NOISE.convert("P")),
    "one bit": draw(image=NOISE.convert("1")),
    "one pixel": draw(image=Image.new("RGB", (1, 1))),
    "very high": draw(image=Image.new("L", (1, 80_000))),
    "jpeg without its end": JPEG[:-2],
    "jpeg with half its end": JPEG[:-1],
    "progressive jpeg without its end": draw("JPEG", progressive=True)[:-2],
    "jpeg with data behind its end": JPEG + bytes(1000),
    "cmyk jpeg": draw("JPEG", NOISE.convert("CMYK")),
    "grey jpeg": draw("JPEG", NOISE.convert("L")),
    "jpeg with a comment of 60 kB": draw("JPEG", comment=b"x" * 60_000),
    "jpeg with several pictures": draw("MPO", save_all=True, append_images=[NOISE]),
    "gif": draw("GIF"),
    "moving gif": draw("GIF", save_all=True, append_images=[NOISE.rotate(90)]),
    "avif": draw("AVIF"),
    "webp": draw("WEBP"),
    "moving png": draw(save_all=True, append_images=[NOISE.rotate(90)]),
}  # fmt: skip
CONVERTED = {
    "bmp": draw("BMP"),
    "tiff": draw("TIFF"),
    "tiff of 16 bits": draw("TIFF", Image.new("I;16", SIZE, 40_000)),
    "tiff of floats": draw("TIFF", Image.linear_gradient("L").resize(SIZE).convert("F")),
    "cmyk tiff": draw("TIFF", NOISE.convert("CMYK")),
    "lab tiff": draw("TIFF", Image.new("LAB", SIZE)),
    "tiff of several pages": draw("TIFF", save_all=True, append_images=[NOISE]),
    "ico": draw("ICO", NOISE.resize((32, 32))),
    "jpeg 2000": draw("JPEG2000"),
    "tga": draw("TGA"),
    "ppm": draw("PPM"),
    "pcx": draw("PCX"),
    "dds": draw("DDS"),
    "qoi": draw("QOI"),
}
NO_PICTURES = {
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "html": b"<!doctype html><p>Please sign in",
    "json": b'{"error": "not ready"}',
    "heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200),
    "mp4": b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(200),
    "pdf": b"%PDF-1.7\n",
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    "zeros": bytes(2000),
    "text": b"I would rather describe it. " * 40,
    "one byte": b"x",
}


@pytest.mark.parametrize("content", AS_THEY_ARE.values(), ids=AS_THEY_ARE)
def test_what_browsers_show_is_taken_as_it_is(content):
    got = read_picture(content)
    assert isinstance(got, Fetched)
    assert got.content == content


@pytest.mark.parametrize("content", CONVERTED.values(), ids=CONVERTED)
def test_anything_else_that_can_be_decoded_becomes_a_png(content):
    got = read_picture(content)
    assert isinstance(got, Fetched)
    assert (got.media_type, got.content[:4]) == ("image/png", b"\x89PNG")
    assert Image.open(io.BytesIO(got.content)).getextrema() != ((0, 0),) * 3


@pytest.mark.parametrize("content", NO_PICTURES.values(), ids=NO_PICTURES)
def test_anything_else_is_kept_for_staff(content):
    assert read_picture(content) == Unreadable(content, "not_a_picture")


@pytest.mark.parametrize(
    "junk",
    [b"\xef\xbb\xbf", b"\r\n\r\n", b"\0\0", b"  \n"],
    ids=["bom", "lines", "zeros", "blanks"],
)
def test_blanks_before_a_picture_are_left_out(junk):
    assert read_picture(junk + draw()).content == draw()


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
def test_cut_picture_is_not_taken_for_a_whole_one(format, kept):
    image = Image.effect_noise((400, 300), 60).convert("RGB")
    whole = draw(format, image)
    assert isinstance(read_picture(whole[: int(len(whole) * kept)]), Cut)


def test_picture_that_comes_twice_with_nearly_all_its_pixels_is_taken():
    image = Image.effect_noise((400, 300), 60).convert("RGB")
    cut = draw("PNG", image)[:-3000]
    assert isinstance(read_picture(cut), Cut)
    assert isinstance(read_picture(cut, is_all_there_is=True), Fetched)
    assert open_upright(cut).size == (400, 300)


@pytest.mark.parametrize(
    ("said", "size"),
    [
        (exif(1), (64, 48)),
        (exif(3), (64, 48)),
        (exif(6), (48, 64)),
        (exif(8, order="<"), (48, 64)),
        (exif(0), (64, 48)),
        (exif(9), (64, 48)),
        (exif(65535), (64, 48)),
        (exif(6, kind=2), (64, 48)),
        (exif(6, many=70_000), (64, 48)),
        (exif(6)[:-4], (48, 64)),
        (b"Exif\0\0MM\0*\xff\xff\xff\xff", (64, 48)),
        (b"Exif\0\0junk", (64, 48)),
        (b"Exif\0\0" + b"A" * 60_000, (64, 48)),
    ],
)
def test_picture_lies_as_browsers_turn_it(said, size):
    got = read_picture(draw("JPEG", exif=said))
    assert (got.width, got.height) == size
    assert open_upright(got.content).size == size


@pytest.mark.parametrize(
    ("format", "size"), [("PNG", (48, 64)), ("AVIF", (48, 64)), ("TIFF", (48, 64)), ("WEBP", SIZE)]
)
def test_other_formats_lie_as_chromium_turns_them(format, size):
    notes = Image.Exif()
    notes[0x0112] = 6
    got = read_picture(draw(format, exif=notes))
    assert (got.width, got.height) == open_upright(got.content).size == size


def test_jpeg_without_its_end_is_turned_as_well():
    got = read_picture(draw("JPEG", exif=exif(6))[:-2])
    assert (got.width, got.height) == open_upright(got.content).size == (48, 64)


@pytest.mark.parametrize("size", [(100_000, 100_000), (9_000, 9_000), (2**31 - 1, 1)])
def test_claim_of_too_many_pixels_is_kept_and_not_decoded(size):
    head = struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"x"))
    assert read_picture(content) == Unreadable(content, "too_many_pixels")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.replace("+", "-").replace("/", "_"),
        lambda text: text.rstrip("="),
        lambda text: "\n".join(text[at : at + 60] for at in range(0, len(text), 60)),
        lambda text: f"data:image/png;base64,{text}",
        lambda text: f"  data:;base64, {text}",
        lambda text: f"data:image/png;charset=utf-8;base64,{text.replace('+', '%2B')}",
    ],
)
def test_base64_is_read_however_it_is_written(wrap):
    got = read_inline(Artifact(b64=wrap(base64.b64encode(draw()).decode())))
    assert isinstance(got, Fetched)


@pytest.mark.parametrize("text", ["not base64!", "ключ", "<svg/>", "data:text/html,<b>hello", "A"])
def test_bytes_that_cannot_be_unpacked_are_kept(text):
    got = read_inline(Artifact(b64=text))
    assert isinstance(got, Unreadable)


@pytest.fixture
def paid(order, fake, serve, monkeypatch, clock):
    """run(content) is a job whose result has this content; its `lines` are the requests for it."""
    from tests.providers.scripted import answer_bytes

    contents: list[bytes] = []

    def answer(line):
        line.read_head()
        line.send(answer_bytes(200, contents.pop(0) if len(contents) > 1 else contents[0]))

    server = serve(answer)
    monkeypatch.setattr(fake, "result_origins", lambda: frozenset({server.url}))

    def run(*served):
        contents.extend(served)
        job = order()
        working.advance(job.pk)
        done = Done((Artifact(url=f"{server.url}/1.png"),))
        fake.polls["run-1"] = done
        incoming.apply(Call.objects.get(), done, timezone.now())
        working.advance(job.pk)
        job.refresh_from_db()
        job.lines = server.lines
        return job

    return run


@pytest.mark.django_db
def test_same_cut_bytes_twice_are_not_fetched_for_a_week(paid, clock, settings):
    job = paid(draw()[:900])
    assert job.state == "running"
    for _ in range(60):
        clock.move_to(Stage.objects.get(name="save").due_at)
        working.advance(job.pk)
        job.refresh_from_db()
        if job.state == "failed":
            break
    assert (job.state, job.reason, UnreadResult.objects.count()) == ("failed", "not_fetched", 1)
    assert len(job.lines) < 45


@pytest.mark.django_db
def test_file_that_is_no_picture_is_in_doubt_and_its_bytes_are_kept(paid, settings):
    job = paid(NO_PICTURES["svg"])
    assert (job.state, job.reason) == ("in_doubt", "unread")
    kept = UnreadResult.objects.get()
    assert (settings.MEDIA_ROOT / kept.file).read_bytes() == NO_PICTURES["svg"]


@pytest.mark.django_db
def test_file_that_becomes_readable_is_delivered(paid, clock):
    job = paid(b"<html>not yet", draw())
    clock.shift(timedelta(minutes=1))
    working.advance(job.pk)
    job.refresh_from_db()
    assert job.state == "ready"


@pytest.mark.django_db
@pytest.mark.parametrize("content", AS_THEY_ARE.values(), ids=AS_THEY_ARE)
def test_page_and_small_picture_show_it(paid, ana_client, content):
    job = paid(content)
    picture = Picture.objects.get()
    small = ana_client.get(f"/images/{picture.pk}/small")
    assert (job.state, small.status_code, small["Content-Type"]) == ("ready", 200, "image/webp")
    file = ana_client.get(f"/images/{picture.pk}/file")
    assert file["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in file["Content-Security-Policy"]
    file.close()


def test_file_that_was_stored_packed_is_unpacked():
    assert read_picture(gzip.compress(JPEG)).content == JPEG
    assert isinstance(read_picture(gzip.compress(JPEG)[:-40]), Cut)
    junk = gzip.compress(b"<html>")
    assert read_picture(junk) == Unreadable(junk, "not_a_picture")


HUGE = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 16, 6, 0, 0, 0)


def test_png_of_any_claimed_size_takes_no_time():
    """The reader stops before it looks at the size, which is then not unpacked either."""
    content = PNG_BEGINS + chunk(b"IHDR", HUGE, crc=1) + chunk(b"IDAT", zlib.compress(b"x"))
    assert read_picture(content) == Unreadable(content, "too_many_pixels")


def test_jpeg_with_scans_without_end_is_not_decoded():
    whole = draw("JPEG", progressive=True)
    last = whole[whole.rindex(b"\xff\xda") : -2]
    content = whole[:-2] + last * 200 + b"\xff\xd9"
    assert read_picture(content) == Unreadable(content, "too_many_pixels")
