"""Webhooks of providers: each moves the next poll to now, and may name the run.

MUST rules: no body is kept, only the id it names; a webhook changes no state. It moves the call's
next look to now, in the transaction that stores it, and what it names is polled by an
authenticated GET before anything is believed (`webhook_references`). Polling by itself
finishes every job.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction
from django.urls import reverse

from providers.adapters.base import SendsWebhooks
from providers.adapters.registry import find_provider
from providers.calls import ledger
from providers.calls.models import Call, Hook
from providers.wire.verifiers import WebhookNotice

MOST_OF_A_CALL = 20


def find_address(call: Call) -> str:
    """Where the provider may report on this call; empty where it cannot, or sends none."""
    if not settings.PUBLIC_URL or not isinstance(find_provider(call.provider), SendsWebhooks):
        return ""
    return settings.PUBLIC_URL + reverse("hook", args=[call.provider, call.hook_token])


def call_at(provider: str, token: str) -> Call | None:
    return Call.objects.filter(hook_token=token, provider=provider).first()


@transaction.atomic
def store(call: Call, hint: WebhookNotice, body: bytes, now: datetime) -> bool:
    """False for a message that had come before, or one too many: then nothing is written."""
    if Hook.objects.filter(call=call).count() >= MOST_OF_A_CALL:
        return False
    try:
        with transaction.atomic():
            Hook.objects.create(
                provider=call.provider,
                message_id=hint.message_id or _digest(call, body),
                call=call,
                received_at=now,
                reference=hint.reference,
                is_signed=hint.is_signed,
            )
    except IntegrityError:
        return False
    ledger.poll_now([call.pk], now)
    return True


def ids_named_for(calls: Sequence[Call]) -> dict[int, list[str]]:
    """The distinct ids that webhooks have named, by call. Calls without one are left out."""
    named: dict[int, list[str]] = {}
    rows = Hook.objects.filter(call__in=calls).exclude(reference="").order_by("pk")
    for call_id, reference in rows.values_list("call_id", "reference"):
        ids = named.setdefault(call_id, [])
        if reference not in ids:
            ids.append(reference)
    return named


def _digest(call: Call, body: bytes) -> str:
    """Replaces the id that an unsigned webhook lacks: the same body is the same message."""
    return "sha256:" + hashlib.sha256(call.hook_token.encode() + b"\n" + body).hexdigest()
