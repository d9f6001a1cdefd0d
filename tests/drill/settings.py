"""The settings of a site in a drill: those of a test, and an app that replaces its clock."""

from tests.scaled import *  # noqa: F403
from tests.scaled import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.drill"]
