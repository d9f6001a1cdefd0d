"""The sandbox's webhooks: signed in the way of one provider or another, late, doubled or forged.

They go to this machine only, from a few threads with time-outs. What waits to be sent is in
memory: a restart forgets it, as a provider may lose a webhook.
"""

import base64
import hashlib
import heapq
import hmac
import ipaddress
import logging
import secrets
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import count
from threading import Condition, Thread
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from providers.sandbox import answers
from providers.sandbox.bill import Generation

log = logging.getLogger(__name__)

THREADS = 4
TIMEOUT = 3.0
TRIES_AFTER = (1.0, 5.0, 30.0)
LOOK_AGAIN = 0.2
LATE_MINUTES = 20
STALE_SECONDS = 3600
COPIES = 3
HOOKED = frozenset(
    {
        *("hook_ok", "hook_dup", "hook_early", "hook_late"),
        *("hook_bad_sig", "hook_stale", "hook_unknown"),
        *("json_5xx_executed", "failed_then_completed"),
    }
)


@dataclass(frozen=True)
class Signer:
    """`style` is HINT (unsigned), STANDARD or ED25519; one secret serves both of the signed."""

    style: str = "HINT"
    secret: str = ""

    def headers(self, run: str, body: bytes, *, sent_at: float) -> dict[str, str]:
        moment = str(int(sent_at))
        if self.style == "STANDARD":
            signed = f"msg_{run}.{moment}.".encode() + body
            signature = base64.b64encode(hmac.digest(self._bytes(), signed, "sha256")).decode()
            return {
                "webhook-id": f"msg_{run}",
                "webhook-timestamp": moment,
                "webhook-signature": f"v1,{signature}",
            }
        if self.style == "ED25519":
            lines = [run, "sandbox", moment, hashlib.sha256(body).hexdigest()]
            return {
                "X-Fal-Webhook-Request-Id": run,
                "X-Fal-Webhook-User-Id": "sandbox",
                "X-Fal-Webhook-Timestamp": moment,
                "X-Fal-Webhook-Signature": self._key().sign("\n".join(lines).encode()).hex(),
            }
        return {}

    def jwks(self) -> dict:
        public = self._key().public_key().public_bytes_raw()
        x = base64.urlsafe_b64encode(public).decode().rstrip("=")
        return {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}]}

    def _bytes(self) -> bytes:
        return base64.b64decode(self.secret.removeprefix("whsec_"))

    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(self._bytes()).digest())


@dataclass(frozen=True)
class Message:
    """A report on one run, to be sent to `url`; `base_url` is ours as the client knows it."""

    generation: Generation
    url: str
    base_url: str
    tries: int = 0


class Sender:
    """Sends each message when it is due, and again after a while if there was no answer."""

    def __init__(self, signer: Signer | None = None) -> None:
        self.signer = signer or Signer()
        self._waiting: list[tuple[float, int, Message]] = []
        self._numbers = count()
        self._woken = Condition()
        self._is_over = False
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="webhook")
        self._thread = Thread(target=self._send_when_due, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._woken:
            self._is_over = True
            self._woken.notify()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def promise(self, generation: Generation, url: str, *, base_url: str, minute: float) -> None:
        """Report on this run as its fault requires, at once where that precedes the answer."""
        fault = generation.fault.name
        if fault not in HOOKED or not is_on_this_machine(url):
            return
        message = Message(generation, url, base_url)
        if fault == "hook_early":
            self._send(message)
        elif fault == "hook_late":
            self._put(message, generation.executed_at + LATE_MINUTES * minute)
        else:
            for _ in range(COPIES if fault == "hook_dup" else 1):
                self._put(message, generation.completes_at)

    def _put(self, message: Message, at: float) -> None:
        with self._woken:
            heapq.heappush(self._waiting, (at, next(self._numbers), message))
            self._woken.notify()

    def _send_when_due(self) -> None:
        with self._woken:
            while not self._is_over:
                left = self._waiting[0][0] - time.time() if self._waiting else None
                if left is None or left > 0:
                    self._woken.wait(left)
                else:
                    self._pool.submit(self._send, heapq.heappop(self._waiting)[2])

    def _send(self, message: Message) -> None:
        generation = message.generation
        if generation.fault.name == "failed_then_completed" and not generation.failure_told_at:
            self._put(message, time.time() + LOOK_AGAIN)
            return
        try:
            status = _post(*self._spoiled(message))
        except (OSError, HTTPException, ValueError) as exc:
            log.debug("a webhook was not taken: %s", type(exc).__name__)
            status = 503
        if status >= 500 and message.tries < len(TRIES_AFTER):
            again_at = time.time() + TRIES_AFTER[message.tries]
            self._put(replace(message, tries=message.tries + 1), again_at)

    def _spoiled(self, message: Message) -> tuple[str, dict[str, str], bytes]:
        """Address, headers and body, with the flaw that the fault asks for."""
        generation, now = message.generation, time.time()
        status = answers.status_of(generation, now=now)
        body = answers.as_json(answers.media(generation, status, base_url=message.base_url))
        fault, run, url = generation.fault.name, generation.id, message.url
        if fault == "hook_stale":
            now -= STALE_SECONDS
        elif fault == "hook_unknown":
            url = f"{url.rstrip('/').rpartition('/')[0]}/{secrets.token_urlsafe(32)}/"
        headers = self.signer.headers(run, body, sent_at=now)
        if fault == "hook_bad_sig":
            body = answers.as_json({"id": f"gen_{'9' * 18}", "status": "completed"})
        return url, headers, body


def is_on_this_machine(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and (host == "localhost" or _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _post(url: str, headers: dict[str, str], body: bytes) -> int:
    parts = urlsplit(url)
    said = {"Content-Type": "application/json", **headers}
    with closing(_line_to(parts.scheme)(parts.hostname or "", parts.port)) as line:
        line.request("POST", parts.path, body, said)
        return line.getresponse().status


def _line_to(scheme: str) -> Callable[[str, int | None], HTTPConnection]:
    if scheme == "http":
        return lambda host, port: HTTPConnection(host, port, timeout=TIMEOUT)
    # It never leaves this machine, and the proxy here may have any certificate.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return lambda host, port: HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
