"""The proxy notes what leaves the site, whatever it does to it, and which answers came through."""

import asyncio
import json
from contextlib import suppress

import pytest

from providers.sandbox.framing import FRAMINGS, INTERIM
from tests.drill.messages import Request, reply_of
from tests.drill.plan import Plan, Round
from tests.drill.proxy import Proxy
from tests.drill.scales import SILENCE
from tests.drill.traffic import Traffic

ANSWER = reply_of("200 OK", b'{"id": "gen_1"}')


def asked_for(model: str) -> bytes:
    about = {"model": model, "input": {"callBackUrl": "http://site/hooks/sandbox/token/"}}
    body = json.dumps(about).encode()
    head = f"POST /v1/media HTTP/1.1\r\nX-Sandbox-Work: image:j1\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


LOST = ("reset_before", "reset_after")


def exchange(trouble: str, answer: bytes = ANSWER) -> tuple[Proxy, bytes]:
    """All that came back for one request of a round with that trouble on its submit."""
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
            came = await lost(reader) if trouble in LOST else await all_of(reader)
            writer.close()
            return came

    return proxy, asyncio.run(asyncio.wait_for(ask(), 60))


async def all_of(reader: asyncio.StreamReader) -> bytes:
    """Until the proxy is silent, since it may keep the connection."""
    came = b""
    with suppress(TimeoutError):
        while part := await asyncio.wait_for(reader.read(65536), 1):
            came += part
    return came


async def lost(reader: asyncio.StreamReader) -> bytes:
    with pytest.raises(ConnectionResetError):
        await reader.read()
    return b""


def test_an_answer_that_came_through_is_noted():
    proxy, came = exchange("")
    assert came == ANSWER
    assert proxy.traffic.answered == {"gen_1": 0.0}


def test_an_answer_that_was_lost_is_none():
    assert exchange("reset_after")[0].traffic.answered == {}


def test_a_head_that_names_its_run_is_noted_although_the_body_is_cut():
    named = b"HTTP/1.1 200 OK\r\nX-Generation-Id: gen_1\r\nContent-Length: 99\r\n\r\n{"
    proxy, came = exchange("", named)
    assert came == named
    assert (proxy.traffic.named, proxy.traffic.answered) == ({"gen_1": 0.0}, {})


@pytest.mark.parametrize("trouble", ["", "reset_before", "reset_after"])
def test_each_request_that_left_the_site_is_noted(trouble):
    proxy, _ = exchange(trouble)
    assert proxy.traffic.asked == {"token": "image:j1"}
    assert proxy.traffic.round_of_token["token"].number == 1


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_whole_answer_in_an_odd_frame_came_through(framing):
    proxy, came = exchange(framing)
    assert came == FRAMINGS[framing].write(200, b'{"id": "gen_1"}')
    assert proxy.traffic.answered == {"gen_1": 0.0}


def test_interim_answers_come_before_the_real_one():
    proxy, came = exchange("interim")
    assert came == b"".join(INTERIM) + ANSWER
    assert proxy.traffic.answered == {"gen_1": 0.0}


def test_what_follows_the_providers_own_interim_answers_is_read():
    proxy, came = exchange("", b"".join(INTERIM) + ANSWER)
    assert came == b"".join(INTERIM) + ANSWER
    assert proxy.traffic.answered == {"gen_1": 0.0}


@pytest.mark.parametrize("framing", ["answer_no_end", "answer_too_long"])
def test_an_answer_that_the_provider_framed_wrongly_came_through(framing):
    proxy, _ = exchange("", FRAMINGS[framing].write(200, b'{"id": "gen_1"}'))
    assert proxy.traffic.answered == {"gen_1": 0.0}


def poll(run: str) -> Request:
    raw = f"GET /v1/media/{run} HTTP/1.1\r\n\r\n".encode()
    return Request("GET", f"/v1/media/{run}", {}, b"", raw)


def traffic_of(*faults: str) -> Traffic:
    """A round for each fault, each of a customer of its own, its run known: gen_0, gen_1, ..."""
    rounds = [Round(number, fault, number) for number, fault in enumerate(faults)]
    traffic = Traffic(Plan(tuple(rounds), ()), lambda: 7.0)
    traffic._by_run = {f"gen_{each.number}": each for each in rounds}
    return traffic


def test_a_swapped_poll_is_about_the_run_of_another_customer():
    asked = traffic_of("ok", "fail", "ok").about_another(poll("gen_0"))
    assert asked
    assert asked.path == "/v1/media/gen_2"
    assert asked.raw == b"GET /v1/media/gen_2 HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("faults", [("ok",), ("ok", "fail"), ("fail", "ok")])
def test_without_two_that_end_with_a_picture_nothing_is_swapped(faults):
    assert traffic_of(*faults).about_another(poll("gen_0")) is None


def test_a_silence_that_was_wished_for_is_noted():
    traffic = traffic_of("ok")
    traffic.note_silence(poll("gen_0"), 429, str(SILENCE))
    traffic.note_silence(poll("gen_0"), 429, "")
    traffic.note_silence(poll("gen_0"), 200, str(SILENCE))
    assert traffic.silences == [(7.0, 7.0 + SILENCE)]
