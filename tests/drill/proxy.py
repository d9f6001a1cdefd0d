"""The TCP proxy between the site and the sandbox: it delays, loses, spoils and rewrites, as each
round's plan says, and answers with another customer's run.
"""

import asyncio
from collections import Counter
from collections.abc import Callable

from tests.drill.messages import ReplySoFar, Request, read_request, reset
from tests.drill.plan import Plan
from tests.drill.scales import SILENCE
from tests.drill.traffic import Traffic
from tests.drill.troubles import DELAY, INSTEAD, PASSED_ON, WHOLE, Gone, before_reply, spoil

WIRE_ERRORS = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)


class Proxy:
    def __init__(self, plan: Plan, upstream: int, time: Callable[[], float]) -> None:
        self.upstream = upstream
        self.traffic = Traffic(plan, time)
        self.is_straight = False
        self.injected: Counter[str] = Counter()
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
        trouble, sent = self._trouble_for(request)
        if trouble in INSTEAD:
            writer.write(INSTEAD[trouble])
            await writer.drain()
            if trouble == "busy_after":
                self.traffic.note_silence(request, 429, str(SILENCE))
            return
        if trouble == "reset_before":
            raise ConnectionResetError
        if trouble == "delay":
            await asyncio.sleep(DELAY)
        up_writer.write(sent.raw)
        await up_writer.drain()
        await _unless_gone(reader, self._pass_reply(sent, trouble, up_reader, writer))

    async def _pass_reply(
        self,
        request: Request,
        trouble: str,
        up_reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        reply = ReplySoFar()
        await before_reply(trouble, writer)
        while not reply.is_whole and (part := await up_reader.read(65536)):
            reply.add(part)
            if trouble in PASSED_ON:
                writer.write(part)
                await writer.drain()
                self.traffic.note_named(reply)
        self.traffic.learn(request, reply)
        if trouble in PASSED_ON:
            self.traffic.note_whole(request, reply)
        if not reply.is_whole:
            # The sandbox hung up, politely: so do we.
            raise Gone
        if trouble not in PASSED_ON:
            if trouble in WHOLE:
                self.traffic.note_whole(request, reply)
            await spoil(trouble, reply, writer)

    def _trouble_for(self, request: Request) -> tuple[str, Request]:
        """Each trouble of a round happens once; one of them changes the request."""
        where, of_round = self.traffic.way_of(request)
        if of_round is None or self.is_straight:
            return "", request
        trouble = {
            "submit": of_round.on_submit,
            "fallback": "refuse" if of_round.refuses_fallback else "",
            "poll": of_round.on_poll,
            "file": of_round.on_file,
            "list": of_round.on_list,
        }.get(where, "")
        sent = self.traffic.about_another(request) if trouble == "swapped" else request
        if not trouble or sent is None or (of_round.number, where) in self._done:
            return "", request
        if where != "fallback":
            self._done.add((of_round.number, where))
        self.injected[f"wire {where} {trouble}"] += 1
        return trouble, sent


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
