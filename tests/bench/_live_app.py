"""The site's application, with counters for the bench, and a bare stream beside it."""

import asyncio
import json
import time

from django.db.backends.signals import connection_created

from config.asgi import application as site

statements = 0
waiting: dict[str, set[asyncio.Event]] = {}


def count(execute, sql, params, many, context):
    global statements
    statements += 1
    return execute(sql, params, many, context)


def install(sender, connection, **kwargs) -> None:
    if count not in connection.execute_wrappers:
        connection.execute_wrappers.append(count)


connection_created.connect(install)


async def application(scope, receive, send) -> None:
    path = scope.get("path", "")
    if not path.startswith("/_bench"):
        await site(scope, receive, send)
    elif path.startswith("/_bench/stream/"):
        await stream(path.rpartition("/")[2], receive, send)
    elif path.startswith("/_bench/fire/"):
        at = time.time()
        for event in waiting.get(path.rpartition("/")[2], set()):
            event.set()
        await answer(send, {"at": at})
    else:
        from jobs.live.hub import hub

        await answer(send, {"statements": statements, "streams": hub().streams})


async def answer(send, body: dict) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def stream(job: str, receive, send) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    event = asyncio.Event()
    waiting.setdefault(job, set()).add(event)
    gone = asyncio.create_task(receive_disconnect(receive, event))
    try:
        while not gone.done():
            event.clear()
            body = b"event: state\ndata: " + b"x" * 4000 + b"\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
            await event.wait()
    finally:
        gone.cancel()
        waiting[job].discard(event)


async def receive_disconnect(receive, event: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    event.set()
