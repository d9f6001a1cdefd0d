"""The admin with the site of its own."""

from django.contrib.admin.apps import AdminConfig


class StaffConfig(AdminConfig):
    default_site = "jobs.staff.views.staff_site.StaffSite"
