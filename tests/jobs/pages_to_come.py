"""Addresses of the site, with those that have a rule already and no page yet."""

from django.http import HttpResponse
from django.urls import path

from config.urls import urlpatterns as here

TO_COME = ("sign_up", "password_reset", "second_factor", "upload")


def nothing(request) -> HttpResponse:
    return HttpResponse()


urlpatterns = [*here, *(path(f"to-come/{name}", nothing, name=name) for name in TO_COME)]
