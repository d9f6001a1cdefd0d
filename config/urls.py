"""The one table of addresses."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("hooks/", include("providers.webhooks.urls")),
    path("", include("jobs.web.urls")),
]

handler400 = "jobs.web.views.errors.bad_request"
handler403 = "jobs.web.views.errors.forbidden"
handler404 = "jobs.web.views.errors.not_found"
handler500 = "jobs.web.views.errors.broken"
