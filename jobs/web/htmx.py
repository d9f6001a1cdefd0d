"""What htmx asks for."""

from jobs.people.requests import SiteRequest


def wants_part(request: SiteRequest) -> bool:
    """A whole page where a browser goes back, though htmx fetches it."""
    htmx = request.htmx
    return bool(htmx) and not htmx.history_restore_request
