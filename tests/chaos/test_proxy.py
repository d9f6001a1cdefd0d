"""The proxy notes what leaves the site, whatever it does to it, and which answers came through."""

import asyncio
import json

import pytest

from config.drill.messages import reply_of
from config.drill.plan import Plan, Round
from config.drill.proxy import Proxy

ANSWER = reply_of("200 OK", b'{"id": "gen_1"}')


def asked_for(model: str) -> bytes:
    about = {"model": model, "input": {"callBackUrl": "http://site/hooks/sandbox/token/"}}
    body = json.dumps(about).encode()
    head = f"POST /v1/media HTTP/1.1\r\nX-Sandbox-Work: image:j1\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def exchange(trouble: str, answer: bytes = ANSWER) -> tuple[Proxy, bytes]:
    """What came back for one request of a round with that trouble on its submit."""
    of_round = Round(1, "ok", 0, on_submit=trouble)
    proxy = Proxy(Plan((of_round,), ()), 0, lambda: 0.0)

    async def sandbox(reader, writer):
        await reader.readuntil(b"}}")
        writer.write(answer)
        writer.close()

    async def ask() -> bytes:
        upstream = await asyncio.start_server(sandbox, "127.0.0.1", 0)
        proxy.upstream = upstream.sockets[0].getsockname()[1]
        served = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        port = served.sockets[0].getsockname()[1]
        async with upstream, served:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(asked_for(of_round.model))
            came = await reader.readexactly(len(answer)) if not trouble else await lost(reader)
            writer.close()
            return came

    return proxy, asyncio.run(asyncio.wait_for(ask(), 60))


async def lost(reader: asyncio.StreamReader) -> bytes:
    with pytest.raises(ConnectionResetError):
        await reader.read()
    return b""


def test_an_answer_that_came_through_is_noted():
    proxy, came = exchange("")
    assert came == ANSWER
    assert proxy.answered == {"gen_1": 0.0}


def test_an_answer_that_was_lost_is_none():
    assert exchange("reset_after")[0].answered == {}


def test_a_head_that_names_its_run_is_noted_although_the_body_is_cut():
    named = b"HTTP/1.1 200 OK\r\nX-Generation-Id: gen_1\r\nContent-Length: 99\r\n\r\n{"
    proxy, came = exchange("", named)
    assert came == named
    assert (proxy.named, proxy.answered) == ({"gen_1": 0.0}, {})


@pytest.mark.parametrize("trouble", ["", "reset_before", "reset_after"])
def test_each_request_that_left_the_site_is_noted(trouble):
    proxy, _ = exchange(trouble)
    assert proxy.asked == {"token": "image:j1"}
    assert proxy.round_of_token["token"].number == 1
