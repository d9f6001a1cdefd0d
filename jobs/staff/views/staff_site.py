"""The admin of this site: Django's own, with the board beside its lists."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from django.contrib import admin
from django.core.exceptions import BadRequest, FieldDoesNotExist
from django.db import DataError
from django.http import HttpResponse
from django.urls import path
from django.utils.translation import gettext_lazy as _

from jobs.people.requests import SiteRequest
from jobs.staff.actions import provider_gate
from jobs.staff.views import dashboard
from jobs.web.htmx import wants_part

UNANSWERABLE = (ValueError, OverflowError, DataError, FieldDoesNotExist)


class StaffSite(admin.AdminSite):
    site_header = site_title = "Counterfoil"
    index_title = _("Staff")

    def get_urls(self):
        return [
            path("dashboard/", self._look(dashboard.board), name="dashboard"),
            path(
                "dashboard/<str:provider>/pause/",
                self.admin_view(provider_gate.pause_page),
                name="pause_provider",
            ),
            path(
                "dashboard/<str:provider>/resume/",
                self.admin_view(provider_gate.resume_page),
                name="resume_provider",
            ),
            *super().get_urls(),
        ]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Django's lists and filters do not check whether a value of the address can be looked up:
        a NUL, a year beyond the calendar, a number beyond its column, a field without a name."""
        guarded = super().admin_view(view, cacheable)

        def read(request: SiteRequest, *place: Any, **named: Any) -> HttpResponse:
            if any("\0" in said for said in _values_of(request)):
                raise BadRequest("NUL in the address")
            try:
                return guarded(request, *place, **named)
            except UNANSWERABLE as exc:
                if not request.GET and not isinstance(exc, FieldDoesNotExist):
                    raise
                raise BadRequest(f"{type(exc).__name__} caused by the address") from exc

        return read

    def _look(self, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        """A board that refreshes itself is not to swap the sign-in page into its own place."""
        guarded = self.admin_view(view)

        def look(request: SiteRequest) -> HttpResponse:
            if wants_part(request) and not self.has_permission(request):
                return HttpResponse(headers={"HX-Refresh": "true"})
            return guarded(request)

        return look


def _values_of(request: SiteRequest) -> Iterable[str]:
    return chain.from_iterable(values for _name, values in request.GET.lists())
