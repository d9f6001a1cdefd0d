"""HTTP/1.1 as far as a proxy must know it: where a request ends, and whether a reply came whole."""

import asyncio
import json
import socket
import struct
from dataclasses import dataclass, replace

LINGER_ZERO = struct.pack("ii", 1, 0)
MOST_HEAD = 64 * 1024


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    raw: bytes

    def json(self) -> dict:
        return as_object(self.body)

    @property
    def place(self) -> str:
        return self.path.partition("?")[0]

    def about(self, place: str) -> "Request":
        """The same request for another place."""
        first, _, rest = self.raw.partition(b"\r\n")
        moved = first.replace(self.path.encode(), place.encode()) + b"\r\n" + rest
        return replace(self, path=place, raw=moved)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """None when the client has left between two requests."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, headers = parse_head(head)
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, *_ = [*first.split(" "), "", ""]
    return Request(method, path, headers, body, head + body)


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first, {name.strip().lower(): value.strip() for name, _, value in pairs}


class ReplySoFar:
    """What came of a reply behind its interim answers, and whether that is all of it."""

    def __init__(self) -> None:
        self.kept = b""
        self.size = 0
        self.headers: dict[str, str] = {}
        """None of them before the head is whole."""
        self._length: int | None = None
        self._whole_size: int | None = None

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if len(self.kept) < MOST_HEAD:
            self.kept += part
        self._drop_interim()
        if not self.headers and b"\r\n\r\n" in self.kept:
            head, _, _ = self.kept.partition(b"\r\n\r\n")
            self.headers = parse_head(head)[1]
            length = self.headers.get("content-length")
            if length is not None:
                self._length = int(length)
                self._whole_size = len(head) + 4 + int(length)

    def _drop_interim(self) -> None:
        while self.kept.startswith(b"HTTP/1.1 1") and b"\r\n\r\n" in self.kept:
            head, _, self.kept = self.kept.partition(b"\r\n\r\n")
            self.size -= len(head) + 4

    @property
    def is_whole(self) -> bool:
        return self._whole_size is not None and self.size >= self._whole_size

    @property
    def status(self) -> int:
        words = self.kept[:32].split(b" ")
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0

    @property
    def body(self) -> bytes:
        """As far as it came; of a long one its beginning."""
        body = self.kept.partition(b"\r\n\r\n")[2]
        if "chunked" in self.headers.get("transfer-encoding", ""):
            return _unchunked(body)
        return body[: self._length]

    def json(self) -> dict:
        return as_object(self.body)


def _unchunked(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        if not length:
            break
        found, body = found + rest[:length], rest[length + 2 :]
    return found


def as_object(body: bytes) -> dict:
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def reset(writer: asyncio.StreamWriter) -> None:
    """An RST in place of an orderly end."""
    line = writer.get_extra_info("socket")
    if line is not None and line.fileno() != -1:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
    writer.transport.abort()


def reply_of(status: str, body: bytes = b"", **headers: str) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    for name, value in headers.items():
        head += f"\r\n{name.replace('_', '-')}: {value}"
    return f"{head}\r\n\r\n".encode() + body
