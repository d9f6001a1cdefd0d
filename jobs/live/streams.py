"""One open page as a stream of server-sent events: the present state, each new one, the end."""

import asyncio
import uuid
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_GET

from jobs.live.hub import Hub, hub
from jobs.people.own_rows import own_job
from jobs.people.requests import SiteRequest
from jobs.people.session_cache import SessionStamp, session_stamp

COMMENT_EVERY = 15.0
LONGEST = 600.0
ASK_AGAIN_AFTER = 15
COMMENT = b": still here\n\n"


def close(why: str) -> bytes:
    """The client's word to stop; without a data line a browser would not deliver it."""
    return f"event: close\ndata: {why}\n\n".encode()


@require_GET
async def job_stream(request: SiteRequest, job_id: uuid.UUID) -> HttpResponseBase:
    """404 for another person's job, like its page. When no more streams are available, the page
    polls instead."""
    here = hub()
    if here.is_full:
        return HttpResponse(status=503, headers={"Retry-After": str(ASK_AGAIN_AFTER)})
    account_id, stamp = await sync_to_async(_viewer)(request, job_id)
    response = StreamingHttpResponse(
        _events(here, job_id, account_id, stamp), content_type="text/event-stream"
    )
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


def _viewer(request: SiteRequest, job_id: uuid.UUID) -> tuple[int, SessionStamp | None]:
    """The account that owns the job, and the session that the viewer is its owner by."""
    try:
        return own_job(request, job_id).account_id, session_stamp(request)
    finally:
        connections.close_all()


async def _events(
    here: Hub, job_id: uuid.UUID, account_id: int, stamp: SessionStamp | None = None
) -> AsyncIterator[bytes]:
    """Subscribes on first iteration, so that a stream that is never read leaves nothing behind."""
    # Of a crowd that came at once each one found a place to be free.
    if here.is_full:
        yield close("full")
        return
    ends_at = here.loop.time() + LONGEST
    subscription = here.subscribe(job_id, account_id, stamp)
    sent = 0
    try:
        await here.state_of(job_id)
        while not _viewer_left():
            subscription.woken.clear()
            if subscription.is_out:
                yield close("signed_out")
                return
            state = here.states.get(job_id)
            if state and state.version > sent:
                sent = state.version
                yield state.event
            if state and state.has_ended:
                yield close("ended")
                return
            if subscription.replaced:
                yield close("replaced")
                return
            patience = min(COMMENT_EVERY, ends_at - here.loop.time())
            if patience <= 0:
                return
            try:
                async with asyncio.timeout(patience):
                    await subscription.woken.wait()
            except TimeoutError:
                yield COMMENT
    finally:
        here.leave(subscription)


def _viewer_left() -> bool:
    """A viewer's leaving cancels the task. The exception can get lost on its way, where a thread's
    answer or news came at the same moment; that the task was cancelled it still knows."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
