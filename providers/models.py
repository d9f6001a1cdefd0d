"""Where Django finds the models of this app."""

from providers.calls import models  # noqa: F401
