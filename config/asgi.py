"""The web process's entry point."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Each request runs in a thread of its own here, so a kept connection would never be used again.
os.environ.setdefault("CONN_MAX_AGE", "0")
os.environ.setdefault("DATABASE_POOL", "20")

import django

django.setup(set_prefix=False)

from config.http.answers import unstalled  # noqa: E402
from config.http.bodies import bounded  # noqa: E402
from config.http.handler import Handler  # noqa: E402

application = bounded(unstalled(Handler()))
