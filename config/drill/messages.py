"""HTTP/1.1 as far as a proxy must know it: where a request ends, and whether a reply came whole."""

import asyncio
import json
import socket
import struct
from dataclasses import dataclass

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
    """What came of a reply, and whether that is all of it."""

    def __init__(self) -> None:
        self.kept = b""
        self.size = 0
        self.headers: dict[str, str] = {}
        """None of them before the head is whole."""
        self._whole_size: int | None = None

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if len(self.kept) < MOST_HEAD:
            self.kept += part
        if not self.headers and b"\r\n\r\n" in self.kept:
            head, _, _ = self.kept.partition(b"\r\n\r\n")
            self.headers = parse_head(head)[1]
            length = self.headers.get("content-length")
            if length is not None:
                self._whole_size = len(head) + 4 + int(length)

    @property
    def is_whole(self) -> bool:
        return self._whole_size is not None and self.size >= self._whole_size

    @property
    def status(self) -> int:
        words = self.kept[:32].split(b" ")
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0

    def json(self) -> dict:
        return as_object(self.kept.partition(b"\r\n\r\n")[2])


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


def reply_of(status: str, body: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body
