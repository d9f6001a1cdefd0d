"""Between the sandbox's webhooks and the site: takes each at once, hands it on twice, late or in
another order, again until the site has answered, and notes what the site took.
"""

import asyncio
from collections import Counter
from collections.abc import Callable

from tests.drill.messages import ReplySoFar, Request, read_request, reply_of
from tests.drill.plan import Round

LATE = 4.0
SWAP_WITHIN = 2.0
AGAIN_EVERY = 0.5
GIVE_UP_AFTER = 240


class Relay:
    """`taken`: (token, run) of each report that the site answered with 204; `refused`: of each
    that it answered otherwise, or never."""

    def __init__(
        self, web: int, round_of_token: dict[str, Round], time: Callable[[], float]
    ) -> None:
        self.web, self.round_of_token, self.time = web, round_of_token, time
        self.taken: set[tuple[str, str]] = set()
        self.refused: set[tuple[str, str]] = set()
        self.injected: Counter[str] = Counter()
        self.open = 0
        self._next_came = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await read_request(reader):
                task = asyncio.ensure_future(self._hand_on(request))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                writer.write(reply_of("204 No Content"))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    async def _hand_on(self, request: Request) -> None:
        self.open += 1
        try:
            came, self._next_came = self._next_came, asyncio.Event()
            came.set()
            token = request.path.rstrip("/").rpartition("/")[2]
            of_round = self.round_of_token.get(token)
            trick = of_round.on_hook if of_round else ""
            if trick:
                self.injected[f"hook {trick}"] += 1
            if trick == "late":
                await asyncio.sleep(LATE)
            elif trick == "swapped":
                await _wait(self._next_came, SWAP_WITHIN)
                await asyncio.sleep(0.2)
            copies = 2 if trick == "twice" else 1
            await asyncio.gather(*[self._deliver(request, token) for _ in range(copies)])
        finally:
            self.open -= 1

    async def _deliver(self, request: Request, token: str) -> None:
        report = (token, str(request.json().get("id", "")))
        for _ in range(int(GIVE_UP_AFTER / AGAIN_EVERY)):
            status = await self._post(request)
            if status == 204:
                self.taken.add(report)
                return
            if 200 <= status < 500:
                break
            await asyncio.sleep(AGAIN_EVERY)
        self.refused.add(report)

    async def _post(self, request: Request) -> int:
        """The status; 0 when the site did not answer."""
        reply = ReplySoFar()
        try:
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.web)
                try:
                    writer.write(request.raw)
                    await writer.drain()
                    while not reply.status and (part := await reader.read(4096)):
                        reply.add(part)
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return 0
        return reply.status


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
