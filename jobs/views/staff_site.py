"""The admin of this site: Django's own, with the board beside its lists."""

from collections.abc import Callable

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.translation import gettext_lazy as _

from jobs.views import board, gates
from jobs.views.pages import wants_part


class StaffSite(admin.AdminSite):
    site_header = site_title = "Counterfoil"
    index_title = _("Staff")

    def get_urls(self):
        return [
            path("dashboard/", self._look(board.board), name="dashboard"),
            path(
                "dashboard/<str:provider>/pause/",
                self.admin_view(gates.pause),
                name="pause_provider",
            ),
            path(
                "dashboard/<str:provider>/resume/",
                self.admin_view(gates.resume),
                name="resume_provider",
            ),
            *super().get_urls(),
        ]

    def _look(self, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        """A board that refreshes itself is not to swap the sign-in page into its own place."""
        guarded = self.admin_view(view)

        def look(request: HttpRequest) -> HttpResponse:
            if wants_part(request) and not self.has_permission(request):
                return HttpResponse(headers={"HX-Refresh": "true"})
            return guarded(request)

        return look
