"""For machines: does the process live, and can the site do its work. No page, no quota."""

from django.http import JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs.live.hub import open_streams
from jobs.ops.readiness import readiness, sentences
from jobs.people.requests import SiteRequest


@never_cache
@require_safe
def healthz(request: SiteRequest) -> JsonResponse:
    """Answers while the process runs, even without a database. `streams` is the number of open live
    pages."""
    return JsonResponse({"status": "ok", "streams": open_streams()})


@never_cache
@require_safe
def readyz(request: SiteRequest) -> JsonResponse:
    """200 when pictures can be ordered and made, otherwise 503 and in words what is missing."""
    found = readiness.look()
    missing = sentences(found)
    answer = {"ready": not missing, **found, "missing": missing}
    return JsonResponse(answer, status=503 if missing else 200)
