"""Whether a webhook is what it claims to be, and which run it names.

| sender            | what proves it                                                      |
|-------------------|---------------------------------------------------------------------|
| Polza             | nothing: anyone with the address may send it (`Unsigned`)           |
| Replicate, OpenAI | HMAC-SHA256 over `id.timestamp.body` (`StandardWebhooks`)           |
| fal               | Ed25519 over four lines, by a key of its key set (`Ed25519Jwks`)    |

Proved or not, it is only a hint: the run is polled before anything is believed.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks import Webhook, WebhookVerificationError

from providers.outcomes import can_be_asked_for
from providers.wire.http import Answer, Client

WINDOW = timedelta(seconds=300)
KEYS_LAST = timedelta(hours=24)
ASK_FOR_KEYS_AGAIN = timedelta(minutes=1)
KEYS_WITHIN = 5.0
MOST_SIGNATURES = 10


@dataclass(frozen=True)
class WebhookNotice:
    """`reference` is the run it names, or empty; `message_id` is the same when it is sent again,
    and empty where the sender gives none."""

    reference: str
    message_id: str = ""
    is_signed: bool = False


class Verifier(Protocol):
    def verify(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> WebhookNotice | None:
        """None when it is not proved. `headers` are looked up in any case."""
        ...


class Unsigned:
    def verify(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> WebhookNotice | None:
        return WebhookNotice(run_named_in(body))


class StandardWebhooks:
    """The scheme of standardwebhooks.com. `secret` is `whsec_` and base64."""

    def __init__(self, secret: str) -> None:
        # The library accepts text that is not base64, and would sign with what is left of it.
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        if not key:
            raise ValueError("an empty secret proves nothing")
        self._webhook = Webhook(key)

    def verify(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> WebhookNotice | None:
        message_id = headers.get("webhook-id", "")
        sent_at = headers.get("webhook-timestamp", "")
        if not _is_id(message_id) or not _is_recent(sent_at, now):
            return None
        signatures = headers.get("webhook-signature", "").split(" ")[:MOST_SIGNATURES]
        checked = {
            "webhook-id": message_id,
            "webhook-timestamp": sent_at,
            "webhook-signature": " ".join(signatures),
        }
        try:
            self._webhook.verify(body, checked, json_parse=False)
        except (WebhookVerificationError, ValueError):
            # ValueError: a malformed entry of the list, or a body that is not UTF-8.
            return None
        return WebhookNotice(run_named_in(body), message_id, is_signed=True)


class Ed25519Jwks:
    """fal's scheme. Its keys are kept for a day; one that is missing is requested at most once a
    minute, so that forged messages cost the provider nothing."""

    def __init__(self, fetch_jwks: Callable[[], Any]) -> None:
        self._fetch_jwks = fetch_jwks
        self._keys: list[Ed25519PublicKey] = []
        self._fetched_at: datetime | None = None
        self._asked_at: datetime | None = None
        self._turn = Lock()

    def verify(
        self, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> WebhookNotice | None:
        run = headers.get("x-fal-webhook-request-id", "")
        user = headers.get("x-fal-webhook-user-id", "")
        sent_at = headers.get("x-fal-webhook-timestamp", "")
        signature = _bytes_of_hex(headers.get("x-fal-webhook-signature", ""))
        if not _is_id(run) or not can_be_asked_for(run) or not _is_recent(sent_at, now):
            return None
        lines = [run, user, sent_at, hashlib.sha256(body).hexdigest()]
        if not self._is_signed("\n".join(lines).encode(), signature, now):
            return None
        return WebhookNotice(run, run, is_signed=True)

    def _is_signed(self, message: bytes, signature: bytes, now: datetime) -> bool:
        keys = self._keys_kept(now)
        return _is_by_any(keys, message, signature) or _is_by_any(
            self._keys_anew(keys, now), message, signature
        )

    def _keys_kept(self, now: datetime) -> list[Ed25519PublicKey]:
        is_old = self._fetched_at is None or now - self._fetched_at >= KEYS_LAST
        return [] if is_old else self._keys

    def _keys_anew(self, tried: list[Ed25519PublicKey], now: datetime) -> list[Ed25519PublicKey]:
        """One thread asks; those that waited for it use what it got."""
        with self._turn:
            kept = self._keys_kept(now)
            if kept and kept is not tried:
                return kept
            if self._asked_at and now - self._asked_at < ASK_FOR_KEYS_AGAIN:
                return []
            self._asked_at = now
            keys = _keys_in(self._fetch_jwks())
            if keys:
                self._keys, self._fetched_at = keys, now
            return keys


def jwks_at(url: str, *, trust_env: bool = True) -> Any:
    """The key set as JSON; None when it cannot be had within a few seconds."""
    with Client(trust_env=trust_env) as client:
        reply = client.exchange("GET", url, total=KEYS_WITHIN)
    return reply.json() if isinstance(reply, Answer) and reply.status == 200 else None


def run_named_in(body: bytes) -> str:
    """The id of the run: `data.id` of an OpenAI event, `id` elsewhere; empty when unusable."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if isinstance(said, dict) and said.get("object") == "event":
        said = said.get("data")
    reference = said.get("id") if isinstance(said, dict) else None
    if isinstance(reference, str) and can_be_asked_for(reference):
        return reference
    return ""


def _is_id(text: str) -> bool:
    return 0 < len(text) <= 200 and text.isascii() and text.isprintable()


def _is_recent(sent_at: str, now: datetime) -> bool:
    """Unix seconds, within five minutes of now either way."""
    if not (sent_at.isascii() and sent_at.isdecimal() and len(sent_at) <= 12):
        return False
    return abs(now.timestamp() - int(sent_at)) <= WINDOW.total_seconds()


def _bytes_of_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _keys_in(jwks: Any) -> list[Ed25519PublicKey]:
    entries = jwks.get("keys") if isinstance(jwks, dict) else None
    keys = (
        [_key_of(entry) for entry in entries[:MOST_SIGNATURES]] if isinstance(entries, list) else []
    )
    return [key for key in keys if key]


def _key_of(entry: Any) -> Ed25519PublicKey | None:
    if not isinstance(entry, dict) or (entry.get("kty"), entry.get("crv")) != ("OKP", "Ed25519"):
        return None
    x = str(entry.get("x"))
    try:
        raw = base64.b64decode(x + "=" * (-len(x) % 4), altchars=b"-_", validate=True)
        return Ed25519PublicKey.from_public_bytes(raw)
    except ValueError:
        return None


def _is_by_any(keys: list[Ed25519PublicKey], message: bytes, signature: bytes) -> bool:
    return any(_is_by(key, message, signature) for key in keys)


def _is_by(key: Ed25519PublicKey, message: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
