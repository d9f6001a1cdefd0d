"""The adapter of the local sandbox: Polza's contract, plus the fault that the person chose. Its
webhooks are signed in the way that `SANDBOX_HOOKS` says. An id in the headers is read, as other
providers give it; only the answer of one fault of the sandbox has it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from django.conf import settings

from providers.adapters.base import PictureRequest
from providers.adapters.polza.adapter import Polza
from providers.wire.verifiers import (
    Ed25519Jwks,
    StandardWebhooks,
    Unsigned,
    Verifier,
    WebhookNotice,
    jwks_at,
)

CLOSED_PORT = "http://127.0.0.1:1"


class SandboxPolza(Polza):
    early_id_header = "X-Generation-Id"

    def __init__(self, *, name: str, base_url: str, key: str) -> None:
        super().__init__(name=name, base_url=base_url, key=key)
        self.caps = replace(
            Polza.caps,
            cloud=False,
            silence_timeout=settings.SANDBOX_SILENCE_TIMEOUT,
            answer_timeout=settings.SANDBOX_ANSWER_TIMEOUT,
            result_ttl=settings.SANDBOX_RESULT_RETENTION,
        )
        self.verifier = self._verifier()

    def _verifier(self) -> Verifier:
        if settings.SANDBOX_HOOKS == "STANDARD":
            return StandardWebhooks(settings.SANDBOX_HOOK_SECRET)
        if settings.SANDBOX_HOOKS == "ED25519":
            url = f"{self.base_url}/.well-known/jwks.json"
            return Ed25519Jwks(partial(jwks_at, url, trust_env=False))
        return Unsigned()

    def read_webhook(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> WebhookNotice | None:
        return self.verifier.verify(headers, body, now)

    def submit_url(self, request: PictureRequest) -> str:
        if request.fault == "refuse":
            return f"{CLOSED_PORT}/v1/media"
        return super().submit_url(request)

    def headers(self, request: PictureRequest) -> dict[str, str]:
        return {
            "X-Sandbox-Work": request.work,
            **({"X-Sandbox-Fault": request.fault} if request.fault else {}),
        }
