"""The one table of addresses."""

from django.contrib import admin
from django.urls import include, path
from django.utils.translation import gettext_lazy as _

admin.site.site_header = admin.site.site_title = "Counterfoil"
admin.site.index_title = _("Staff")

urlpatterns = [
    path("admin/", admin.site.urls),
    path("hooks/", include("providers.urls")),
    path("", include("jobs.urls")),
]

handler400 = "jobs.views.errors.bad_request"
handler403 = "jobs.views.errors.forbidden"
handler404 = "jobs.views.errors.not_found"
handler500 = "jobs.views.errors.broken"
