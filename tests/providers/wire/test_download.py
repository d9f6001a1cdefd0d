"""Fetching a result: taken whole, within its size and time, known by its bytes; or asked again."""

import base64
import gzip
import io
import struct
import time
import zlib

import pytest
from PIL import Image

from providers.calls.result_files import decode_inline
from providers.outcomes import Artifact
from providers.wire.download import DownloadRefused, NotFetched, fetch, read_kept
from providers.wire.picture_files import Fetched, Unreadable
from tests.providers.scripted import answer_bytes


def draw(format="PNG", size=(40, 30), **options):
    drawn, image = io.BytesIO(), Image.effect_noise(size, 60).convert("RGB")
    image.save(drawn, format, **options)
    return drawn.getvalue()


def draw_all(format):
    """A file with several pictures in it."""
    drawn = io.BytesIO()
    first, *others = [Image.new("RGB", (8, 8), color) for color in ("red", "green", "blue")]
    first.save(drawn, format, save_all=True, append_images=others)
    return drawn.getvalue()


PNG = draw()


def png_of(width, height):
    """A PNG that claims a size and holds next to nothing."""

    def chunk(name, payload):
        whole = name + payload
        return struct.pack(">I", len(payload)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(9)))


@pytest.fixture
def fetch_from(serve):
    """Fetches from a scripted server that is an own origin."""

    def get(script, scheme="http", path="/f/1.png"):
        server = serve(script, scheme=scheme)
        return fetch(Artifact(url=server.url + path), own_origins=frozenset({server.url}))

    return get


@pytest.fixture
def fetch_answer(fetch_from):
    def get(payload, **where):
        def answer(line):
            line.read_head()
            line.send(payload)

        return fetch_from(answer, **where)

    return get


def picture(content, **headers):
    return answer_bytes(200, content, **{"Content_Type": "image/png", **headers})


# What is taken


def test_picture_is_fetched_whole(fetch_answer, scheme):
    got = fetch_answer(picture(PNG), scheme=scheme)
    assert got == Fetched(PNG, "image/png", "png", 40, 30)


@pytest.mark.parametrize(
    ("content", "media_type", "extension"),
    [
        (draw("PNG"), "image/png", "png"),
        (draw("JPEG"), "image/jpeg", "jpg"),
        (draw("JPEG", progressive=True), "image/jpeg", "jpg"),
        (draw("WEBP"), "image/webp", "webp"),
        (draw("WEBP", lossless=True), "image/webp", "webp"),
        (draw_all("MPO"), "image/jpeg", "jpg"),
        (draw_all("WEBP"), "image/webp", "webp"),
        (draw_all("PNG"), "image/png", "png"),
    ],
    ids=["png", "jpeg", "progressive", "webp", "lossless", "mpo", "moving_webp", "moving_png"],
)
def test_type_is_read_from_the_content(fetch_answer, content, media_type, extension):
    got = fetch_answer(picture(content, Content_Type="text/html"))
    assert (got.media_type, got.extension) == (media_type, extension)


@pytest.mark.parametrize(
    "payload",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + PNG,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (len(PNG), PNG),
        picture(gzip.compress(PNG), Content_Encoding="gzip"),
        picture(PNG, Content_Encoding="gzip"),
    ],
    ids=["to_the_end", "chunked", "gzip", "plain_as_gzip"],
)
def test_picture_is_fetched_however_it_is_framed(fetch_answer, payload):
    assert fetch_answer(payload).content == PNG


# What is not a picture, now and for ever


@pytest.mark.parametrize(
    "content",
    [b"<html>Please sign in", b"{}", b"x", b"%PDF-1.7", b"<svg/>"],
    ids=["html", "json", "one_byte", "pdf", "svg"],
)
def test_what_is_no_picture_is_kept(fetch_answer, content):
    assert fetch_answer(picture(content)) == Unreadable(content, "not_a_picture")


@pytest.mark.parametrize("size", [(100_000, 100_000), (9_000, 9_000), (2**31 - 1, 1)])
def test_huge_picture_is_not_decoded(fetch_answer, size):
    content = png_of(*size)
    assert fetch_answer(picture(content)) == Unreadable(content, "too_many_pixels")


def test_bomb_in_a_picture_of_many_is_refused(fetch_answer):
    bomb = bytearray(draw_all("WEBP"))
    at = bomb.index(b"VP8X") + 12
    bomb[at : at + 6] = b"\xff\x3f\x00\xff\x3f\x00"
    assert isinstance(fetch_answer(picture(bytes(bomb))), Unreadable | NotFetched)


# What is too much


@pytest.fixture
def small_limit(settings):
    settings.FETCH_MAX_BYTES = 5000


def pour(line):
    line.read_head()
    while True:
        line.send(b"\x89PNG\r\n\x1a\n" * 1000)


def test_announced_oversize_is_refused(fetch_answer, small_limit):
    assert fetch_answer(picture(bytes(5001))) == DownloadRefused("too_large")


def test_endless_file_is_refused(fetch_from, small_limit):
    def pour_without_length(line):
        line.send(b"HTTP/1.1 200 OK\r\n\r\n")
        pour(line)

    assert fetch_from(pour_without_length) == DownloadRefused("too_large")


def test_endless_file_with_a_false_length_is_refused(fetch_from, small_limit):
    def pour_with_length(line):
        line.send(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n")
        pour(line)

    assert fetch_from(pour_with_length) == DownloadRefused("too_large")


def test_compressed_bomb_is_refused(fetch_answer, small_limit):
    bomb = gzip.compress(bytes(50_000_000))
    assert fetch_answer(picture(bomb, Content_Encoding="gzip")) == DownloadRefused("too_large")


def test_file_of_the_largest_size_is_taken(fetch_answer, settings):
    settings.FETCH_MAX_BYTES = len(PNG)
    assert isinstance(fetch_answer(picture(PNG)), Fetched)


# What is asked for again


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP"])
@pytest.mark.parametrize("kept", [0, 3, 12, 30, 0.5, 0.95])
def test_cut_picture_is_asked_for_again(fetch_answer, format, kept):
    whole = draw(format)
    cut = whole[: kept if isinstance(kept, int) else int(len(whole) * kept)]
    assert isinstance(fetch_answer(b"HTTP/1.1 200 OK\r\n\r\n" + cut), NotFetched)


@pytest.mark.parametrize(
    "payload",
    [
        picture(PNG)[:-10],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n" + PNG,
        b"garbage\r\n\r\n",
        b"",
    ],
    ids=["short", "chunk", "garbage", "closed"],
)
def test_lost_file_is_asked_for_again(fetch_answer, scheme, payload):
    got = fetch_answer(payload, scheme=scheme)
    assert (type(got), got.why) == (NotFetched, "no_answer")


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "payload",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(PNG) + 2, PNG),
        CHUNKED + b"%x\r\n%b\r\n" % (len(PNG), PNG),
        CHUNKED + b"%x\r\n%b" % (len(PNG) + 20, PNG),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99999\r\n\r\n"
        + gzip.compress(PNG)[:-4],
    ],
    ids=["length_too_long", "no_last_chunk", "chunk_too_long", "gzip_too_long"],
)
def test_same_bytes_twice_are_the_file_whatever_the_framing_says(serve, payload):
    server = serve(lambda line: line.read_head() and line.send(payload))
    artifact, own = Artifact(url=f"{server.url}/1.png"), frozenset({server.url})
    first = fetch(artifact, own_origins=own)
    again = fetch(artifact, own_origins=own, seen=frozenset({first.sha256}))
    assert (first.why, again.content) == ("no_answer", PNG)


def test_half_a_file_that_comes_twice_is_kept_for_staff(serve):
    half = picture(PNG)[: -len(PNG) // 2]
    server = serve(lambda line: line.read_head() and line.send(half))
    artifact, own = Artifact(url=f"{server.url}/1.png"), frozenset({server.url})
    first = fetch(artifact, own_origins=own)
    again = fetch(artifact, own_origins=own, seen=frozenset({first.sha256}))
    assert (type(again), again.why) == (Unreadable, "cut")


@pytest.mark.parametrize("status", [204, 206, 304, 429, 500, 503])
def test_refusal_of_the_host_is_asked_again(fetch_answer, status):
    assert fetch_answer(answer_bytes(status, b"")) == NotFetched("refused_by_host")


@pytest.mark.parametrize(
    ("status", "why"),
    [(401, "refused_by_host"), (403, "refused_by_host"), (404, "gone"), (410, "gone")],
)
def test_address_that_may_have_expired_is_told_apart(fetch_answer, status, why):
    assert fetch_answer(answer_bytes(status, b"")) == NotFetched(why, expired=True)


def test_closed_port_is_asked_again():
    own = "http://127.0.0.1:1"
    got = fetch(Artifact(url=f"{own}/1.png"), own_origins=frozenset({own}))
    assert got == NotFetched("no_answer")


@pytest.mark.parametrize("part", ["headers", "body"])
def test_drip_ends_at_the_total_deadline(fetch_from, settings, scheme, part):
    settings.FETCH_TIMEOUT = 1

    def drip(line):
        line.read_head()
        if part == "body":
            line.send(b"HTTP/1.1 200 OK\r\n\r\n")
        line.drip(PNG)

    started = time.monotonic()
    assert fetch_from(drip, scheme).why == "no_answer"
    assert time.monotonic() - started < 5 * settings.FETCH_TIMEOUT


def test_deadline_is_one_for_all_hops(serve, settings):
    settings.FETCH_TIMEOUT = 1

    def redirect_slowly(line):
        line.read_head()
        line.server.over.wait(0.4)
        line.answer(302, b"", Location="/again")

    server, started = serve(redirect_slowly), time.monotonic()
    got = fetch(Artifact(url=server.url), own_origins=frozenset({server.url}))
    assert got == NotFetched("no_answer")
    assert time.monotonic() - started < 5 * settings.FETCH_TIMEOUT


# Inline results

INLINE = base64.b64encode(PNG).decode()
WRAPPED = base64.encodebytes(PNG).decode()


def read_inline(artifact):
    """As it is kept in a file and read from there."""
    inline = decode_inline(artifact)
    return read_kept(inline.content, is_encoded=inline.is_encoded)


UNPADDED = base64.b64encode(draw(size=(41, 30))).decode().rstrip("=")


@pytest.mark.parametrize(
    "artifact",
    [
        Artifact(b64=INLINE),
        Artifact(b64=WRAPPED),
        Artifact(b64=UNPADDED),
        Artifact(b64=f"data:image/png;base64,{INLINE}"),
        Artifact(url=f"data:image/png;base64,{INLINE}"),
        Artifact(url=f"DATA:;base64,{INLINE}"),
    ],
    ids=["bare", "wrapped", "unpadded", "b64_with_address", "address", "upper_case"],
)
def test_inline_picture_is_taken_as_it_is(artifact, internet):
    assert isinstance(read_inline(artifact), Fetched)


@pytest.mark.parametrize(
    ("artifact", "why"),
    [
        (Artifact(b64="not base64!"), "encoding"),
        (Artifact(b64="ключ"), "encoding"),
        (Artifact(b64="aGVsbG8="), "not_a_picture"),
        (Artifact(b64="A"), "encoding"),
        (Artifact(url="data:text/html,<b>hello"), "not_a_picture"),
        (Artifact(url="data:"), "cut"),
        (Artifact(b64=INLINE[:200]), "cut"),
    ],
)
def test_bad_inline_picture_is_kept_at_once(artifact, why, internet):
    got = read_inline(artifact)
    assert (type(got), got.why) == (Unreadable, why)


def test_oversize_inline_picture_is_refused(settings):
    settings.FETCH_MAX_BYTES = len(PNG) - 3
    assert read_inline(Artifact(b64=INLINE)) == DownloadRefused("too_large")
