"""Answers that arrive whole but are framed wrongly, or share the connection with other bytes."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from providers.sandbox.wire import Line, head, whole

INTERIM = (
    b"HTTP/1.1 102 Processing\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nX-Hint: one\r\n\r\n",
)
PAUSE = 0.1
REST = b"\r\nX-Rest: of something else\r\n"

Framing = Callable[[int, bytes], bytes]


@dataclass(frozen=True)
class Framed:
    """How a whole JSON answer is written, and whether the line is closed after it."""

    write: Framing
    closes: bool = False

    def __call__(self, line: Line, answer: bytes) -> None:
        line.close_connection = line.close_connection or self.closes
        line.wfile.write(self.write(200, answer))


def without_last_chunk(status: int, body: bytes) -> bytes:
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n"
    return head(status, "application/json", {"Transfer-Encoding": "chunked"}) + chunk


def announced_too_long(status: int, body: bytes) -> bytes:
    return whole(status, body, headers={"Content-Length": str(len(body) + 2)})


def called_compressed(status: int, body: bytes) -> bytes:
    return whole(status, body, headers={"Content-Encoding": "gzip"})


def twice(status: int, body: bytes) -> bytes:
    return 2 * whole(status, body)


def with_rest(status: int, body: bytes) -> bytes:
    return whole(status, body) + REST


FRAMINGS = {
    "answer_no_end": Framed(without_last_chunk, closes=True),
    "answer_too_long": Framed(announced_too_long, closes=True),
    "answer_called_gzip": Framed(called_compressed),
    "answer_twice": Framed(twice),
    "answer_rest": Framed(with_rest),
}


def send_interim(line: Line) -> None:
    """As gateways do: at once, and the answer itself a moment later."""
    for answer in INTERIM:
        line.wfile.write(answer)
    time.sleep(PAUSE)
