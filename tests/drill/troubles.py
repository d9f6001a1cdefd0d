"""What becomes of a reply on its way: lost, spoiled, rewritten, or wrapped in an odd way."""

import asyncio
import json
from collections.abc import Callable

from providers.sandbox.framing import FRAMINGS, INTERIM, PAUSE
from tests.drill.messages import ReplySoFar, reply_of
from tests.drill.scales import MOST_HELD, SILENCE

DELAY = 1.0
DRIP_PAUSE = 0.25


class Gone(OSError):
    """One of the two ends has left."""


def _error(code: str, text: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": text}}).encode()


def _of_next_page(meta: dict) -> dict:
    return {**meta, "page": meta.get("page", 1) + 1, "total": 0}


BUSY = _error("TOO_MANY_REQUESTS", "too busy by the drill")
INSTEAD = {
    "refuse": reply_of("422 Unprocessable Entity", _error("VALIDATION_ERROR", "by the drill")),
    "unavailable": reply_of("503 Service Unavailable", _error("SLOW_DOWN", "by the drill")),
    "busy": reply_of("429 Too Many Requests", BUSY),
    "busy_after": reply_of("429 Too Many Requests", BUSY, Retry_After=str(SILENCE)),
}
"""What is answered without asking the sandbox."""

REWRITTEN: dict[str, Callable[[dict], dict]] = {
    "no_id": lambda said: {name: value for name, value in said.items() if name != "id"},
    "other_page": lambda said: {"items": [], "meta": _of_next_page(said.get("meta", {}))},
}

# Its reply is handed on as it comes.
PASSED_ON = ("", "delay", "interim", "swapped")
# Every byte of the answer arrives.
WHOLE = (*PASSED_ON, *FRAMINGS)


async def before_reply(trouble: str, writer: asyncio.StreamWriter) -> None:
    if trouble == "interim":
        writer.write(b"".join(INTERIM))
        await writer.drain()
        await asyncio.sleep(PAUSE)


async def spoil(trouble: str, reply: ReplySoFar, writer: asyncio.StreamWriter) -> None:
    if trouble in SPOIL:
        await SPOIL[trouble](reply, writer)
    elif not reply.json():
        writer.write(reply.kept)
    elif trouble in REWRITTEN:
        body = json.dumps(REWRITTEN[trouble](reply.json())).encode()
        writer.write(reply_of(f"{reply.status} Rewritten", body))
    else:
        writer.write(FRAMINGS[trouble].write(reply.status, reply.body))
    await writer.drain()
    if trouble in FRAMINGS and FRAMINGS[trouble].closes:
        raise Gone


async def _hold(reply: ReplySoFar, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(MOST_HELD)
    writer.write(reply.kept)
    await writer.drain()
    raise Gone


async def _cut(reply: ReplySoFar, writer: asyncio.StreamWriter) -> None:
    writer.write(reply.kept[: reply.size // 2 + 40])
    await writer.drain()
    raise ConnectionResetError


async def _truncate(reply: ReplySoFar, writer: asyncio.StreamWriter) -> None:
    writer.write(reply.kept[: len(reply.kept.partition(b"\r\n\r\n")[0]) + 14])
    await writer.drain()
    raise Gone


async def _drip(reply: ReplySoFar, writer: asyncio.StreamWriter) -> None:
    for byte in reply.kept:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(DRIP_PAUSE)


async def _reset_after(reply: ReplySoFar, writer: asyncio.StreamWriter) -> None:
    raise ConnectionResetError


SPOIL = {
    "hold": _hold,
    "cut": _cut,
    "truncate": _truncate,
    "drip": _drip,
    "reset_after": _reset_after,
}
