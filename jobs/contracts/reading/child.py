"""Reads a file in a process of its own, so that a hostile file hurts nothing else.

The parent counts the time and the output, the child its memory; whichever limit is met first ends
the child, and the file is refused with the reason.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from jobs.contracts.reading.blocks import Extract
from jobs.contracts.reading.limits import Limits
from jobs.contracts.reading.refusals import Reason, Unreadable

ROOT = Path(__file__).resolve().parents[3]
CHUNK = 2**16


@dataclass(frozen=True)
class Result:
    extract: Extract
    peak_memory_bytes: int


def read_file(file: IO[bytes], name: str, limits: Limits = Limits()) -> Result:  # noqa: B008
    """`file` needs a descriptor. Raises Unreadable."""
    child = subprocess.Popen(
        [
            sys.executable, "-m", "jobs.contracts.reading",
            name[-40:], str(limits.seconds), str(limits.memory), str(limits.output),
        ],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={"PATH": os.defpath, "PYTHONIOENCODING": "utf-8", "PYTHONHASHSEED": "0"},
        start_new_session=True,
    )  # fmt: skip
    try:
        answer = receive(child, limits)
    except Unreadable:
        child.kill()
        raise
    finally:
        peak = reap(child)
    return Result(understand(answer, child.returncode), peak)


def receive(child: subprocess.Popen[bytes], limits: Limits) -> bytes:
    assert child.stdout is not None
    deadline = time.monotonic() + limits.seconds
    received = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
            raise Unreadable(Reason.SLOW)
        piece = os.read(child.stdout.fileno(), CHUNK)
        if not piece:
            return bytes(received)
        received += piece
        if len(received) > limits.output:
            raise Unreadable(Reason.OUTPUT)


def reap(child: subprocess.Popen[bytes]) -> int:
    """Wait for its end; how much memory it used at most, in bytes."""
    if child.stdout is not None:
        child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def understand(answer: bytes, code: int) -> Extract:
    if code == -signal.SIGXCPU:
        raise Unreadable(Reason.SLOW)
    if code == -signal.SIGKILL:
        raise Unreadable(Reason.MEMORY)
    if code:
        raise Unreadable(Reason.DAMAGED)
    answered = json.loads(answer)
    if "refused" in answered:
        raise Unreadable(Reason(answered["refused"]))
    return Extract.from_json(answered["extract"])
