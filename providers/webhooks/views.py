"""Where providers report: checked, stored, answered. What follows from it is the ticker's."""

import logging

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from providers.adapters.base import SendsWebhooks
from providers.adapters.registry import find_provider, is_known
from providers.webhooks import store as webhooks

log = logging.getLogger(__name__)

MOST_BYTES = 64 * 1024


@csrf_exempt
def take_webhook(request: HttpRequest, provider: str, token: str) -> HttpResponse:
    """204, also for a repeated one; no answer has a body."""
    if request.method == "POST":
        answer = HttpResponse(status=_take(request, provider, token))
    else:
        answer = HttpResponseNotAllowed(["POST"])
    # Django would log the path, and with it the token.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def _take(request: HttpRequest, provider: str, token: str) -> int:
    try:
        return _stored(request, provider, token)
    except DatabaseError as exc:
        log.warning("A webhook could not be stored: %s", type(exc).__name__)
        return 503


def _stored(request: HttpRequest, provider: str, token: str) -> int:
    call = webhooks.call_at(provider, token)
    adapter = find_provider(provider) if call and is_known(provider) else None
    if call is None or not isinstance(adapter, SendsWebhooks):
        return 404
    # `config.http.bodies` refuses what is larger before it is read; this is for any other server.
    body = request.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        return 413
    now = timezone.now()
    hint = adapter.read_webhook(request.headers, body, now)
    if hint is None:
        log.warning("A webhook of %s was refused: its signature does not prove it", provider)
        return 403
    webhooks.store(call, hint, body, now)
    return 204
