"""Connections that send a part of a body and no more; each that is closed comes again after a
while. Prints what became of them when its input ends: opened, most open at once, closed.

python -m tests.bench._crowd_bodies PORT CONNECTIONS SECONDS_UNTIL_AGAIN
"""

import asyncio
import sys
from contextlib import suppress

from config.supervisor import open_files

BODY = b"POST /hooks/x/y/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nx"


class Body(asyncio.Protocol):
    opened = open = most = closed = 0

    def __init__(self) -> None:
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport) -> None:
        Body.opened += 1
        Body.open += 1
        Body.most = max(Body.most, Body.open)
        transport.write(BODY)

    def connection_lost(self, exc) -> None:
        Body.open -= 1
        Body.closed += 1
        if not self.over.done():
            self.over.set_result(None)


async def stay(port: int, again: float) -> None:
    loop = asyncio.get_running_loop()
    while True:
        with suppress(OSError):
            _transport, body = await loop.create_connection(Body, "127.0.0.1", port)
            await body.over
        await asyncio.sleep(again)


async def main(port: int, connections: int, again: float) -> None:
    loop = asyncio.get_running_loop()
    crowd = [loop.create_task(stay(port, again)) for _ in range(connections)]
    await asyncio.to_thread(sys.stdin.read)
    print(Body.opened, Body.most, Body.closed, flush=True)
    for one in crowd:
        one.cancel()


if __name__ == "__main__":
    open_files.raise_limit()
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
