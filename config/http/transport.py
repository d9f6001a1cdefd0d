"""Strict-Transport-Security for a site that is reached by https."""

from django.http import HttpRequest, HttpResponse
from django.middleware.security import SecurityMiddleware


class TransportSecurity(SecurityMiddleware):
    """Django sends the header only if it knows the request to be secure, but not every proxy states
    the scheme. Browsers ignore the header on a plain http response."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = super().process_response(request, response)
        if self.sts_seconds:
            response.headers.setdefault("Strict-Transport-Security", f"max-age={self.sts_seconds}")
        return response
