"""Where providers report: checked, stored, answered. What follows from it is the ticker's."""

import logging

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from providers import hooks
from providers.registry import provider_named

log = logging.getLogger(__name__)

MOST_BYTES = 64 * 1024


@csrf_exempt
@require_POST
def take_hook(request: HttpRequest, provider: str, token: str) -> HttpResponse:
    """204, also for one that came before; no answer says more than its status."""
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        return HttpResponse(status=413)
    try:
        return HttpResponse(status=_take(request, provider, token))
    except DatabaseError as exc:
        log.warning("A webhook could not be stored: %s", type(exc).__name__)
        return HttpResponse(status=503)


def _take(request: HttpRequest, provider: str, token: str) -> int:
    if provider not in settings.PROVIDER_ACCOUNTS:
        return 404
    call = hooks.call_at(provider, token)
    if call is None:
        return 404
    body = request.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        return 413
    now = timezone.now()
    hint = provider_named(provider).read_hook(request.headers, body, now)
    if hint is None:
        log.warning("A webhook of %s was refused: its signature does not prove it", provider)
        return 403
    hooks.store(call, hint, body, now)
    return 204
