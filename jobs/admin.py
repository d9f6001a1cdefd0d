"""Where Django finds the admin pages of this app."""

from jobs.staff import admin  # noqa: F401
