"""What htmx asks for."""

from django.http import HttpRequest


def wants_part(request: HttpRequest) -> bool:
    """A whole page where a browser goes back, though htmx fetches it."""
    htmx = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.history_restore_request
