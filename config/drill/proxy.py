"""The TCP proxy between the site and the sandbox: it delays, holds, cuts, truncates, drips and
resets, as each round's plan says, and notes which replies it handed over whole.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable

from config.drill.messages import ReplySoFar, Request, read_request, reply_of, reset
from config.drill.plan import FALLBACK_MODEL, Plan, Round
from config.drill.scales import MOST_HELD
from providers.sandbox.tricks import RUN_HEADER

DELAY = 1.0
DRIP_PAUSE = 0.25
REFUSAL = json.dumps({"error": {"code": "VALIDATION_ERROR", "message": "refused by the drill"}})
WIRE_ERRORS = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)


class Gone(OSError):
    """One of the two ends has left."""


class Proxy:
    """`answered`: run -> when its submit's answer was handed over whole; `named`: run -> when the
    head that names it was; `asked`: the token of each request that left the site -> its work."""

    def __init__(self, plan: Plan, upstream: int, time: Callable[[], float]) -> None:
        self.upstream, self.time = upstream, time
        self.is_straight = False
        self.answered: dict[str, float] = {}
        self.named: dict[str, float] = {}
        self.asked: dict[str, str] = {}
        self.injected: Counter[str] = Counter()
        self.round_of_token: dict[str, Round] = {}
        self._by_model = {each.model: each for each in plan.rounds}
        self._by_work: dict[str, Round] = {}
        self._by_run: dict[str, Round] = {}
        self._done: set[tuple[int, str]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = None
        try:
            upstream = await asyncio.open_connection("127.0.0.1", self.upstream)
            while request := await read_request(reader):
                await self._exchange(request, reader, writer, *upstream)
        except Gone:
            pass
        except WIRE_ERRORS:
            reset(writer)
        finally:
            writer.close()
            if upstream:
                upstream[1].close()

    async def _exchange(
        self,
        request: Request,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        trouble = self._trouble_for(request)
        if trouble == "refuse":
            writer.write(reply_of("422 Unprocessable Entity", REFUSAL.encode()))
            return await writer.drain()
        if trouble == "reset_before":
            raise ConnectionResetError
        if trouble == "delay":
            await asyncio.sleep(DELAY)
        up_writer.write(request.raw)
        await up_writer.drain()
        await _unless_gone(reader, self._pass_reply(request, trouble, up_reader, writer))
        return None

    async def _pass_reply(
        self,
        request: Request,
        trouble: str,
        up_reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        reply = ReplySoFar()
        while not reply.is_whole:
            part = await up_reader.read(65536)
            if not part:
                # The sandbox hung up, politely: so do we.
                raise Gone
            reply.add(part)
            if trouble in ("", "delay"):
                writer.write(part)
                await writer.drain()
                self._note_named(reply)
        self._learn(request, reply)
        if trouble in ("", "delay"):
            self._note_answered(request, reply)
        else:
            await SPOIL[trouble](reply, writer)

    def _trouble_for(self, request: Request) -> str:
        """Each trouble of a round happens once."""
        where, of_round = self._way_of(request)
        if of_round is None or self.is_straight:
            return ""
        trouble = {
            "submit": of_round.on_submit,
            "fallback": "refuse" if of_round.refuses_fallback else "",
            "poll": of_round.on_poll,
            "file": of_round.on_file,
        }.get(where, "")
        if not trouble or (of_round.number, where) in self._done:
            return ""
        if where != "fallback":
            self._done.add((of_round.number, where))
        self.injected[f"wire {where} {trouble}"] += 1
        return trouble

    def _way_of(self, request: Request) -> tuple[str, Round | None]:
        if request.method == "POST":
            asked = request.json()
            work, model = request.headers.get("x-sandbox-work", ""), asked.get("model", "")
            self.asked[_token_of(asked)] = work
            if model == FALLBACK_MODEL:
                return "fallback", self._by_work.get(work)
            of_round = self._by_model.get(model)
            if of_round:
                self._by_work[work] = of_round
                self.round_of_token[_token_of(asked)] = of_round
            return "submit", of_round
        way, _, run = request.path.rpartition("/")
        where = {"/v1/media": "poll", "/f": "file"}.get(way, "")
        return where, self._by_run.get(run.removesuffix(".png"))

    def _learn(self, request: Request, reply: ReplySoFar) -> None:
        run = reply.json().get("id") if request.method == "POST" else None
        of_round = self._by_model.get(request.json().get("model", "")) if run else None
        if of_round:
            self._by_run[str(run)] = of_round

    def _note_named(self, reply: ReplySoFar) -> None:
        run = reply.headers.get(RUN_HEADER.lower())
        if run:
            self.named.setdefault(run, self.time())

    def _note_answered(self, request: Request, reply: ReplySoFar) -> None:
        run = reply.json().get("id")
        if request.method == "POST" and 200 <= reply.status < 300 and run:
            self.answered[str(run)] = self.time()


def _token_of(asked: dict) -> str:
    """Of the address to report to, which the call's row has as well."""
    hook = str(asked.get("input", {}).get("callBackUrl", "")).rstrip("/")
    return hook.rpartition("/")[2]


async def _unless_gone(reader: asyncio.StreamReader, work) -> None:
    """Ends the work once the client has left: during a reply it sends nothing but its end."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Gone
        await task
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


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
