"""Every way in which, by RFC 9112, an answer can end or be spoiled, and what may be made of it.

A way turns a body into the bytes of an answer. `submit` is how a submit ends with it, `poll` and
`listing` whether it is an answer to a GET, `download` whether a picture may come of it (None:
either, by what the decoder makes of the bytes), `keeps` whether the connection serves again.
"""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass

OK = "HTTP/1.1 200 OK"
ACCEPTED, LOST, UNREADABLE = "accepted", "lost", "unreadable"


@dataclass(frozen=True)
class Way:
    build: Callable[[bytes], bytes]
    submit: str = ACCEPTED
    poll: bool = True
    listing: bool = False
    download: bool | None = False
    keeps: bool = False
    then: str = "closes"
    """What the server does next: closes, resets, or waits."""


def head(*lines: str, line: str = OK, ends: str = "\r\n") -> bytes:
    return ends.join([line, *lines, "", ""]).encode("latin-1")


def sized(body: bytes, *more: str, off: int = 0, line: str = OK) -> bytes:
    return head(f"Content-Length: {len(body) + off}", *more, line=line) + body


def lengths(*values: str) -> Callable[[bytes], bytes]:
    """`{}` stands for the length."""
    return lambda body: (
        head(*[f"Content-Length: {value}".format(len(body)) for value in values]) + body
    )


def chunk(data: bytes, extension: str = "") -> bytes:
    return f"{len(data):x}{extension}\r\n".encode() + data + b"\r\n"


def chunked(*more: str) -> bytes:
    return head("Transfer-Encoding: chunked", *more)


def split(body: bytes) -> bytes:
    return chunk(body[:7]) + chunk(body[7:])


def with_size(size: Callable[[bytes], str]) -> Callable[[bytes], bytes]:
    return lambda body: chunked() + size(body).encode() + b"\r\n" + body + b"\r\n0\r\n\r\n"


def encoded(name: str, data: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda body: sized(data(body), f"Content-Encoding: {name}")


def bare_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def first(interim: str, times: int = 1) -> Callable[[bytes], bytes]:
    return lambda body: f"{interim}\r\n\r\n".encode() * times + sized(body)


def with_line(line: str) -> Callable[[bytes], bytes]:
    return lambda body: sized(body, line=line)


def with_headers(*headers: str) -> Callable[[bytes], bytes]:
    return lambda body: sized(body, *headers)


HINT = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nLink: </b.js>"
GOOD = {"listing": True, "download": True}
NOTHING = {"poll": False}
NO_ANSWER = {"submit": LOST, "poll": False}

LENGTHS = {
    "length": Way(sized, keeps=True, then="waits", **GOOD),
    "length_short": Way(lambda body: sized(body, off=-2), download=None),
    "length_short_open": Way(lambda body: sized(body, off=-2), then="waits", download=None),
    "length_long": Way(lambda body: sized(body, off=2)),
    "length_long_open": Way(lambda body: sized(body, off=2), then="waits"),
    "length_long_reset": Way(lambda body: sized(body, off=2), then="resets"),
    "length_twice": Way(lengths("{}", "{}"), download=None),
    "length_list": Way(lengths("{0}, {0}"), download=None),
    "length_conflict": Way(lengths("{}", "7")),
    "length_negative": Way(lengths("-1"), download=None),
    "length_of_words": Way(lengths("many"), download=None),
    "length_empty": Way(lengths(""), download=None),
    "length_signed": Way(lengths("+{}"), download=None),
    "length_hex": Way(lengths("0x24"), download=None),
    "length_grouped": Way(lengths("1_{}"), download=None),
    "length_zero": Way(lengths("0"), download=None),
    "length_huge": Way(lengths("9" * 30)),
    "length_and_chunks": Way(
        lambda body: chunked("Content-Length: 3") + chunk(body) + chunk(b""), download=None
    ),
}
CHUNKS = {
    "chunks": Way(
        lambda body: chunked() + split(body) + chunk(b""), keeps=True, then="waits", **GOOD
    ),
    "chunk_extension": Way(
        lambda body: chunked() + chunk(body, ";a=b") + chunk(b""), keeps=True, then="waits", **GOOD
    ),
    "chunks_of_one_byte": Way(
        lambda body: chunked() + b"".join(chunk(bytes([byte])) for byte in body) + chunk(b""),
        keeps=True,
        then="waits",
        **GOOD,
    ),
    "chunk_trailer": Way(
        lambda body: chunked() + chunk(body) + b"0\r\nX: y\r\n\r\n", then="waits", download=True
    ),
    "chunks_without_last": Way(lambda body: chunked() + chunk(body)),
    "chunks_without_last_open": Way(lambda body: chunked() + chunk(body), then="waits"),
    "chunks_without_last_reset": Way(lambda body: chunked() + chunk(body), then="resets"),
    "chunks_without_last_line": Way(lambda body: chunked() + chunk(body) + b"0\r\n", download=None),
    "chunk_size_of_letters": Way(with_size(lambda body: "xyz")),
    "chunk_size_empty": Way(with_size(lambda body: "")),
    "chunk_size_negative": Way(with_size(lambda body: f"-{len(body):x}"), download=None),
    "chunk_size_short": Way(with_size(lambda body: f"{len(body) - 5:x}"), download=None),
    "chunk_size_long": Way(with_size(lambda body: f"{len(body) + 20:x}"), download=None),
    "chunk_size_huge": Way(with_size(lambda body: "f" * 16)),
    "chunk_size_prefixed": Way(with_size(lambda body: f"0x{len(body):x}"), download=None),
    "chunk_size_padded": Way(with_size(lambda body: f" {len(body):x} "), download=None),
    "chunk_lines_of_lf": Way(
        lambda body: chunked() + f"{len(body):x}\n".encode() + body + b"\n0\n\n", download=None
    ),
    "chunk_without_line_end": Way(
        lambda body: chunked() + f"{len(body):x}\r\n".encode() + body + b"0\r\n\r\n", download=None
    ),
    "chunked_said_twice": Way(
        lambda body: head("Transfer-Encoding: chunked, chunked") + chunk(body) + chunk(b""),
        download=None,
    ),
    "chunked_after_gzip": Way(
        lambda body: (
            head("Transfer-Encoding: gzip, chunked") + chunk(gzip.compress(body)) + chunk(b"")
        ),
        submit=UNREADABLE,
        poll=False,
        download=True,
    ),
    "coding_identity": Way(lambda body: sized(body, "Transfer-Encoding: identity"), download=None),
    "chunked_without_chunks": Way(lambda body: chunked() + body),
}
ENDS = {
    "to_the_end": Way(lambda body: head() + body, **GOOD),
    "to_the_end_said": Way(lambda body: head("Connection: close") + body, **GOOD),
    "length_and_close": Way(lambda body: sized(body, "Connection: close"), then="waits", **GOOD),
    "http_1.0": Way(lambda body: head(line="HTTP/1.0 200 OK") + body, **GOOD),
    "http_1.0_kept": Way(
        lambda body: sized(body, "Connection: keep-alive", line="HTTP/1.0 200 OK"),
        then="waits",
        **GOOD,
    ),
    "http_0.9": Way(lambda body: body, **NO_ANSWER),
    "no_bytes": Way(lambda body: b"", **NO_ANSWER),
    "no_body": Way(lambda body: head("Content-Length: 0"), UNREADABLE, poll=False, then="waits"),
    "no_body_due": Way(lambda body: head("Content-Length: 36"), **NO_ANSWER),
    "204_with_body": Way(with_line("HTTP/1.1 204 No Content"), poll=False),
    "205_with_body": Way(with_line("HTTP/1.1 205 Reset Content"), poll=False),
    "204_bare": Way(lambda body: head(line="HTTP/1.1 204 No Content"), UNREADABLE, poll=False),
    "304_with_body": Way(with_line("HTTP/1.1 304 Not Modified"), "redirected", poll=False),
    "206_with_body": Way(with_line("HTTP/1.1 206 Partial Content"), poll=False),
}
HEADS = {
    "status_garbage": Way(lambda body: b"\x00\x01 what\r\n\r\n" + body, **NO_ANSWER),
    "status_small_letters": Way(with_line("http/1.1 200 OK"), **NO_ANSWER),
    "status_of_2": Way(with_line("HTTP/2 200"), **NO_ANSWER),
    "preface_of_2": Way(lambda body: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + body, **NO_ANSWER),
    "frames_of_2": Way(lambda body: b"\0\0\x12\x04\0\0\0\0\0" + body, **NO_ANSWER),
    "status_bare": Way(with_line("HTTP/1.1 200"), keeps=True, then="waits", **GOOD),
    "status_no_number": Way(with_line("HTTP/1.1 abc OK"), **NO_ANSWER),
    "status_of_4_digits": Way(with_line("HTTP/1.1 2000 OK"), **NO_ANSWER),
    "empty_line_first": Way(lambda body: b"\r\n" + sized(body), **NO_ANSWER),
    "status_too_long": Way(with_line("HTTP/1.1 200 " + "x" * 70_000)),
    "nul_in_reason": Way(with_line("HTTP/1.1 200 O\0K"), download=None),
    "head_cut": Way(lambda body: sized(body)[:20], **NO_ANSWER),
    "head_of_lf": Way(
        lambda body: head(f"Content-Length: {len(body)}", ends="\n") + body,
        then="waits",
        download=True,
    ),
    "folded_header": Way(with_headers("X: a", " b"), then="waits", download=True),
    "header_without_colon": Way(with_headers("what is this"), then="waits", download=None),
    "header_without_colon_first": Way(
        lambda body: head("what is this", f"Content-Length: {len(body)}") + body, download=None
    ),
    "header_space_before_colon": Way(with_headers("X : y"), then="waits", download=None),
    "header_without_name": Way(with_headers(": y"), then="waits", download=None),
    "header_with_nul": Way(with_headers("X: a\0b"), then="waits", download=True),
    "header_with_cr": Way(with_headers("X: a\rb"), then="waits", download=None),
    "header_beyond_ascii": Way(with_headers("X: \xff\xfe"), keeps=True, then="waits", **GOOD),
    "header_too_long": Way(with_headers("X: " + "x" * 70_000)),
    "too_many_headers": Way(with_headers(*["X: y"] * 200)),
}
ENCODINGS = {
    "gzip": Way(encoded("gzip", gzip.compress), keeps=True, then="waits", **GOOD),
    "gzip_twice": Way(
        encoded("gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
        download=None,
        listing=True,
        keeps=True,
        then="waits",
    ),
    "deflate": Way(encoded("deflate", zlib.compress), keeps=True, then="waits", **GOOD),
    "deflate_bare": Way(encoded("deflate", bare_deflate), keeps=True, then="waits", **GOOD),
    "plain_as_gzip": Way(encoded("gzip", bytes), then="waits", download=True),
    "plain_as_deflate": Way(encoded("deflate", bytes), then="waits", download=True),
    "plain_as_br": Way(encoded("br", bytes), listing=True, download=None, keeps=True, then="waits"),
    "plain_as_unknown": Way(
        encoded("x-strange", bytes), listing=True, download=None, keeps=True, then="waits"
    ),
    "gzip_without_end": Way(
        encoded("gzip", lambda body: gzip.compress(body)[:-8]),
        listing=True,
        download=None,
        keeps=True,
        then="waits",
    ),
    "gzip_cut": Way(
        encoded("gzip", lambda body: gzip.compress(body)[:-14]),
        UNREADABLE,
        poll=False,
        download=None,
    ),
    "gzip_and_junk": Way(
        encoded("gzip", lambda body: gzip.compress(body) + b"junk"),
        keeps=True,
        then="waits",
        **GOOD,
    ),
    "gzip_too_long": Way(lambda body: sized(gzip.compress(body), "Content-Encoding: gzip", off=9)),
}
INTERIM = {
    "100": Way(first("HTTP/1.1 100 Continue"), then="waits", **GOOD),
    "102": Way(first("HTTP/1.1 102 Processing"), then="waits", **GOOD),
    "103": Way(first(HINT), then="waits", **GOOD),
    "103_bare": Way(first("HTTP/1.1 103"), then="waits", **GOOD),
    "103_five_times": Way(first(HINT, 5), then="waits", **GOOD),
    "199": Way(first("HTTP/1.1 199 Whatever"), then="waits", **GOOD),
    "100_of_1.0": Way(first("HTTP/1.0 100 Continue"), then="waits", **GOOD),
    "103_alone": Way(lambda body: HINT.encode() + b"\r\n\r\n", **NO_ANSWER),
    "103_endless": Way(first(HINT, 1000), **NO_ANSWER),
    "101": Way(lambda body: head(line="HTTP/1.1 101 Switching"), "unlisted", poll=False),
    "101_then_answer": Way(first("HTTP/1.1 101 Switching\r\nUpgrade: x"), "unlisted", poll=False),
}
AFTER = {
    "answer_twice": Way(lambda body: sized(body) * 2, then="waits", download=True),
    "junk_after": Way(lambda body: sized(body) + b"junk", then="waits", download=True),
    "line_break_after": Way(lambda body: sized(body) + b"\r\n", then="waits", download=True),
    "chunks_twice": Way(
        lambda body: (chunked() + chunk(body) + chunk(b"")) * 2, then="waits", download=True
    ),
    "to_the_end_twice": Way(
        lambda body: (head() + body) * 2, UNREADABLE, poll=False, download=None
    ),
    "two_objects": Way(lambda body: sized(body + body), UNREADABLE, poll=False, download=None),
    "reset_after_all": Way(sized, then="resets", keeps=True, **GOOD),
}
WAYS = LENGTHS | CHUNKS | ENDS | HEADS | ENCODINGS | INTERIM | AFTER
