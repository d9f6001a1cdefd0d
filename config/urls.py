"""The one table of addresses."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("hooks/", include("providers.urls")),
    path("", include("jobs.urls")),
]

handler400 = "jobs.views.errors.bad_request"
handler403 = "jobs.views.errors.forbidden"
handler404 = "jobs.views.errors.not_found"
handler500 = "jobs.views.errors.broken"
