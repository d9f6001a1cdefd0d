"""Where Django finds the models of this app."""

from jobs.core import models  # noqa: F401
