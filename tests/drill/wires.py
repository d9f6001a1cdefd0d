"""Runs proxy and relay in a thread of their own."""

import asyncio
import threading
from concurrent.futures import Future

from tests.drill.proxy import Proxy
from tests.drill.relay import Relay


class Wires:
    def __init__(self, proxy: Proxy, proxy_port: int, relay: Relay, relay_port: int) -> None:
        self._served = ((proxy.serve, proxy_port), (relay.serve, relay_port))
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()
        for serve, port in self._served:
            starting: Future[asyncio.Server] = asyncio.run_coroutine_threadsafe(
                asyncio.start_server(serve, "127.0.0.1", port, backlog=512), self._loop
            )
            self._servers.append(starting.result(10))

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end_all(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
