"""Polza.ai: submit with `async: true`, then poll. Money is RUB; no idempotency key, no cancel.

Never seen live from here; the wire contract is that of the published reference, and the sandbox
speaks it (`providers.adapters.sandbox`). Results live 7 days at Polza.
"""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.utils import timezone

from providers.adapters.base import Caps, PictureRequest, ignore_id
from providers.adapters.polza import history
from providers.outcomes import (
    Accepted,
    Cause,
    Done,
    Failed,
    NoAnswer,
    NoOutput,
    Report,
    Reported,
    RunList,
    Running,
    Submitted,
    Unknown,
    amount_said,
    can_be_asked_for,
    reference_said,
)
from providers.reasons import Reason
from providers.wire.classify import OwnError, classify, unreadable
from providers.wire.http import Answer, BearerAuth, Client, polling_client
from providers.wire.results import read_output, says_something
from providers.wire.retry_after import read_retry_after
from providers.wire.verifiers import Unsigned, WebhookNotice

log = logging.getLogger(__name__)

CANCELLED = frozenset({"cancelled", "canceled"})
CONTENT_CODES = ("CONTENT", "MODERATION", "SAFETY", "NSFW")
HISTORY = "/v1/history/generations"


class Polza:
    early_id_header = ""
    """Empty: Polza names its run only in the body."""
    caps = Caps(
        kinds=frozenset({"image"}),
        cloud=True,
        enqueue_only=True,
        result_ttl=timedelta(days=7),
        currency="RUB",
    )

    def __init__(self, *, name: str, base_url: str, key: str) -> None:
        self.name = name
        self.base_url = base_url.rstrip("/")
        self.auth = BearerAuth(key)

    def submit(
        self,
        request: PictureRequest,
        *,
        send_by: datetime,
        note_id: Callable[[str], None] = ignore_id,
    ) -> Submitted:
        with Client(trust_env=self.caps.cloud) as client:
            reply = client.exchange(
                "POST",
                self.submit_url(request),
                json=_media_request(request),
                headers=self.headers(request),
                auth=self.auth,
                total=self.caps.answer_timeout,
                silence=self.caps.silence_timeout,
                send_by=send_by,
                on_headers=partial(self._note_early_id, note_id),
            )
        if isinstance(reply, Answer) and 200 <= reply.status < 300:
            return _read_submitted(reply)
        return classify(reply, own=_own_error(reply), enqueue_only=self.caps.enqueue_only)

    def _note_early_id(self, note_id: Callable[[str], None], headers: Mapping[str, str]) -> None:
        reference = headers.get(self.early_id_header, "") if self.early_id_header else ""
        if can_be_asked_for(reference):
            note_id(reference)

    def poll(self, reference: str, model: str) -> Reported:
        body = self._ask(f"/v1/media/{quote(reference, safe='')}")
        if isinstance(body, NoAnswer):
            return body
        return Report(reference_said(body.get("id")), _read_polled(body, self.base_url))

    def runs_between(self, since: datetime, until: datetime) -> RunList:
        return history.read(lambda page: self._ask(HISTORY, is_list=True, **page), since, until)

    def _ask(self, path: str, *, is_list: bool = False, **query: str) -> dict[str, Any] | NoAnswer:
        """A GET. What runs on this machine is not reached through a proxy. An object that names its
        run proves itself, however it was framed; a list that may be cut is no list."""
        reply = polling_client(trust_env=self.caps.cloud).exchange(
            "GET",
            f"{self.base_url}{path}",
            params=query,
            auth=self.auth,
            total=settings.POLL_TIMEOUT,
            silence=self.caps.silence_timeout,
        )
        if not isinstance(reply, Answer):
            return NoAnswer(Cause(Reason.TRANSPORT, text=reply.text))
        body = reply.json()
        if reply.status != 200 or not isinstance(body, dict):
            return NoAnswer(_why_no_answer(reply))
        if is_list and not reply.is_exact:
            return NoAnswer(Cause(Reason.TRANSPORT, http=reply.status, text="the list may be cut"))
        return body

    def result_origins(self) -> frozenset[str]:
        parts = urlsplit(self.base_url)
        return frozenset({f"{parts.scheme}://{parts.netloc}"})

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> WebhookNotice | None:
        """Unsigned, by the published reference."""
        return Unsigned().verify(headers, body, now)

    def submit_url(self, request: PictureRequest) -> str:
        return f"{self.base_url}/v1/media"

    def headers(self, request: PictureRequest) -> dict[str, str]:
        return {}


def _media_request(request: PictureRequest) -> dict[str, Any]:
    return {
        "model": request.model,
        "async": True,
        "user": request.work,
        "input": {
            "prompt": request.prompt,
            "aspect_ratio": request.aspect_ratio,
            "output_format": "png",
            "max_images": 1,
            **({"callBackUrl": request.hook_url} if request.hook_url else {}),
        },
        "provider": {"allow_fallbacks": False},
    }


def _read_submitted(reply: Answer) -> Accepted | Unknown:
    body = reply.json()
    if not isinstance(body, dict):
        return unreadable("no JSON object", http=reply.status)
    reference = reference_said(body.get("id"))
    if reference:
        return Accepted(reference)
    return unreadable("no usable id", http=reply.status)


def _read_polled(body: dict[str, Any], base_url: str) -> Running | NoOutput | Done | Failed:
    status = str(body.get("status", "")).strip().lower()
    cost = _cost(body.get("usage"))
    if status == "completed":
        return _read_completed(body, cost, base_url)
    if status in CANCELLED:
        return Failed(Cause(Reason.CANCELLED, code="cancelled"), cost)
    if status == "failed":
        return Failed(_failure(body.get("error")), cost)
    if status not in ("pending", "processing"):
        _warn_of_status(status[:40])
    return Running(status[:100])


def _read_completed(
    body: dict[str, Any], cost: Decimal | None, base_url: str
) -> NoOutput | Done | Failed:
    output = read_output(body, base_url)
    if output.artifacts or output.unread:
        return Done(output.artifacts, cost, _in_full(body) if output.unread else "")
    if says_something(body.get("error")):
        return Failed(_no_output(body), cost)
    said = "text" if body.get("content") else "nothing"
    return NoOutput(cost, f"completed with {said} in place of a picture")


def _in_full(body: dict[str, Any]) -> str:
    try:
        return json.dumps(body, ensure_ascii=False, indent=1)
    except RecursionError:
        return json.dumps(body, ensure_ascii=False)


@lru_cache(maxsize=100)
def _warn_of_status(status: str) -> None:
    """Once a word: it would come with every poll."""
    log.warning("polza: unknown status word %r, taken as running", status)


def _no_output(body: dict[str, Any]) -> Cause:
    code, _ = _words_of(body.get("error"))
    return Cause(_kind_of_code(code) or Reason.NO_OUTPUT, code=code, text="completed with an error")


def _failure(error: Any) -> Cause:
    code, text = _words_of(error)
    return Cause(_kind_of_code(code) or Reason.PROVIDER, code=code, text=text)


def _words_of(error: Any) -> tuple[str, str]:
    """Code and message of an error object, however much of it is there."""
    if not isinstance(error, dict):
        return "", str(error or "")
    return str(error.get("code") or ""), str(error.get("message") or "")


def _own_error(reply: Any) -> OwnError | None:
    """Polza's error shape: `{"error": {"code", "message", ...}}`. Its codes are words: a number
    there is a gateway's, and no proof that Polza itself answered."""
    body = reply.json() if isinstance(reply, Answer) else None
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        return None
    code, text = _words_of(error)
    return OwnError(code=code, text=text, kind=_kind_of_code(code)) if code else None


def _why_no_answer(reply: Answer) -> Cause:
    own = _own_error(reply) or OwnError()
    return Cause(
        kind=Reason.RATE if reply.status == 429 else Reason.PROVIDER,
        http=reply.status,
        code=own.code,
        text=own.text,
        retry_after=read_retry_after(reply.headers, timezone.now()),
    )


def _kind_of_code(code: str) -> Reason | None:
    return Reason.CONTENT if any(word in code.upper() for word in CONTENT_CODES) else None


def _cost(usage: Any) -> Decimal | None:
    """RUB as the provider said it; None when it said nothing usable."""
    if not isinstance(usage, dict):
        return None
    said = (amount_said(usage.get(name)) for name in ("cost_rub", "cost"))
    return next((amount for amount in said if amount is not None), None)
