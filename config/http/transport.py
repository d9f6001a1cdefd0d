"""Strict-Transport-Security where people use the site by https."""

from django.http import HttpRequest, HttpResponse
from django.middleware.security import SecurityMiddleware


class TransportSecurity(SecurityMiddleware):
    """Django sends it only with requests that it knows to be secure, but a proxy need not name the
    scheme. Browsers ignore it on an answer by http."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response = super().process_response(request, response)
        if self.sts_seconds:
            response.headers.setdefault("Strict-Transport-Security", f"max-age={self.sts_seconds}")
        return response
