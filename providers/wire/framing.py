"""Reads the raw bytes of one answer strictly, by RFC 9112, a second time after the HTTP library.

    parse   what was framed, whether exactly, and whether the connection may serve again
    salvage the one whole JSON object in an answer of status 2xx with wrong framing

Only a complete JSON object counts: a cut number or id never ends with the closing brace.
"""

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

STATUS_LINE = re.compile(rb"HTTP/1\.[01] [0-9]{3}(?: [^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
STATUS_LINE_AT_LEAST = re.compile(rb"HTTP/1\.(\S*)[ \t]+([0-9]{3})(?:[ \t][^\r\n]*)?\r?\n")
HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)\r\n")
HEAD_ENDS = re.compile(rb"\r?\n\r?\n")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\x00\r\n]*)?\r\n")
CHUNK_SIZE_AT_LEAST = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
# Behind an object: nothing, what is left of chunked framing, or the answer that was sent after it.
HARMLESS_TAIL = re.compile(r"[0-9A-Fa-f;\s]*(?:HTTP/1\..*)?", re.DOTALL)
SWITCHED = b"101"
WITHOUT_BODY = frozenset({204, 205, 304})
MOST_DECODED = 64 * 2**20
GZIP_OR_ZLIB, BARE_DEFLATE = 47, -15


@dataclass(frozen=True)
class Message:
    """`payload` is all that followed the head; `body` the part that the framing delimits."""

    status: int
    headers: tuple[tuple[str, str], ...]
    payload: bytes
    body: bytes
    is_exact: bool
    """Framed as the RFC demands, and not a byte missing or left over."""
    is_reusable: bool
    """A plain 200 with a body of stated length: the connection is at a known place."""

    def values_of(self, name: str) -> list[str]:
        return [value for said, value in self.headers if said.lower() == name]


def parse(raw: bytes) -> Message | None:
    """None where no final head has arrived whole, and after a change of protocols."""
    start, has_interim = 0, False
    while True:
        line, ends = STATUS_LINE_AT_LEAST.match(raw, start), HEAD_ENDS.search(raw, start)
        if line is None or ends is None:
            return None
        if line[2] == SWITCHED:
            return None
        if not line[2].startswith(b"1"):
            break
        start, has_interim = ends.end(), True
    # The line break that ends the last header belongs to it.
    block = raw[line.end() : ends.end()]
    headers, is_clean = _read_headers(block)
    is_clean = is_clean and STATUS_LINE.fullmatch(line[0]) is not None
    payload = raw[ends.end() :]
    return _delimit(int(line[2]), headers, payload, is_clean, line[1] == b"1" and not has_interim)


def _read_headers(block: bytes) -> tuple[tuple[tuple[str, str], ...], bool]:
    """What can be read, and whether that is all there is: no folded line, no stray line."""
    found, is_clean = [], True
    for line in block.splitlines(keepends=True):
        if not line.strip(b"\r\n"):
            is_clean = is_clean and line == b"\r\n"
        elif match := HEADER_LINE.fullmatch(line):
            name, value = (part.decode("latin-1") for part in match.groups())
            found.append((name, value.strip(" \t")))
        else:
            is_clean = False
    return tuple(found), is_clean


def _delimit(
    status: int,
    headers: tuple[tuple[str, str], ...],
    payload: bytes,
    is_clean: bool,
    is_persistent: bool,
) -> Message:
    def said(name: str) -> list[str]:
        return [value.lower() for key, value in headers if key.lower() == name]

    lengths, codings = said("content-length"), said("transfer-encoding")
    body, ends_exactly, is_delimited = payload, True, True
    if status in WITHOUT_BODY:
        body, ends_exactly = b"", not payload and not codings and lengths in ([], ["0"])
    elif codings:
        body, ends_exactly = unchunk(payload)
        ends_exactly = ends_exactly and codings == ["chunked"] and not lengths
    elif lengths:
        is_number = len(lengths) == 1 and re.fullmatch(r"[0-9]{1,18}", lengths[0]) is not None
        body = payload[: int(lengths[0])] if is_number else payload
        ends_exactly = is_number and len(payload) == int(lengths[0])
    else:
        is_delimited = False
    is_exact = is_clean and ends_exactly
    stays_open = is_persistent and said("connection") in ([], ["keep-alive"])
    return Message(
        status=status,
        headers=headers,
        payload=payload,
        body=body,
        is_exact=is_exact,
        is_reusable=is_exact and is_delimited and stays_open and status == 200 and bool(body),
    )


def unchunk(payload: bytes) -> tuple[bytes, bool]:
    """The data of the chunks that can be read, and whether they end exactly with the payload.
    No request of ours allows trailers, so with them it is not exact."""
    parts: list[bytes] = []
    at, is_strict = 0, True
    while size := CHUNK_SIZE_AT_LEAST.match(payload, at):
        is_strict = is_strict and CHUNK_SIZE.match(payload, at) is not None
        begin, length = size.end(), int(size[1], 16)
        if length == 0:
            return b"".join(parts), is_strict and payload[begin:] == b"\r\n"
        parts.append(payload[begin : begin + length])
        at = begin + length
        if payload[at : at + 2] != b"\r\n":
            break
        at += 2
    return b"".join(parts), False


def salvage(message: Message) -> bytes | None:
    """The object's own bytes; None also where there are two, since neither is known to be ours."""
    if not 200 <= message.status < 300:
        return None
    return next(filter(None, map(whole_object, _readings(message))), None)


def declared_body(message: Message) -> bytes:
    """The body by the framing, decoded as far as possible."""
    return next(_readings(message))


def whole_object(data: bytes) -> bytes | None:
    """The JSON object that begins here, unless something else than framing follows it."""
    try:
        text = data.decode("utf-8-sig").lstrip()
        if not text.startswith("{"):
            return None
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return text[:end].encode() if HARMLESS_TAIL.fullmatch(text[end:]) else None


def _readings(message: Message) -> Iterator[bytes]:
    """The ways in which the payload may be meant, the declared one first."""
    is_chunked = bool(message.values_of("transfer-encoding"))
    framed = [message.body, message.payload]
    if is_chunked:
        # A size that is no number, or too small: what follows its line.
        framed.insert(1, message.payload.partition(b"\n")[2])
    encodings = [
        name.strip()
        for value in message.values_of("content-encoding")
        for name in value.lower().split(",")
    ]
    for data in framed:
        if encodings:
            yield _decode(data, encodings)
        yield data


def _decode(data: bytes, encodings: list[str]) -> bytes:
    """As far as it goes; what cannot be decoded is left as it is."""
    for name in reversed(encodings):
        if name in ("gzip", "x-gzip", "deflate"):
            data = inflate(data, GZIP_OR_ZLIB) or inflate(data, BARE_DEFLATE) or data
    return data


def inflate(data: bytes, window: int) -> bytes:
    """What comes out before the data end or go wrong."""
    inflater, parts, size = zlib.decompressobj(window), [], 0
    try:
        while data and size < MOST_DECODED:
            parts.append(inflater.decompress(data, 65536))
            size += len(parts[-1])
            data = inflater.unconsumed_tail
    except zlib.error:
        pass
    return b"".join(parts)
